// Workers over HTTP as they are: requests to `cairn serve`, one server killed in the middle, wrong bodies, tokens.
#include <csignal>
#include <gtest/gtest.h>
#include <set>
#include <thread>

#include "storage/digest.hpp"
#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

// Each case's own: what one leaves over is not claimed by the next.
std::string queue() {
  return "claimed" + std::to_string(::testing::UnitTest::GetInstance()->current_test_info()->line());
}

Json py_graph(const std::string& name) {
  const auto step = [](const std::string& next) {
    return Json{{"do", "py.count"},
                {"queue", queue()},
                {"labels", {"ok"}},
                {"with", {{"text", {{"$", "text"}}}}},
                {"retry", {{"attempts", 2}, {"backoff_ms", 10}}},
                {"on", {{"ok", next}}}};
  };
  return {{"name", name},
          {"start", "one"},
          {"input", {{"properties", {{"text", {{"type", "string"}}}}}}},
          {"limits", {{"steps", 20}}},
          {"channels", {{"letters", {{"reducer", "sum"}}}}},
          {"nodes",
           {{"one", step("two")},
            {"two", step("end")},
            {"end", {{"end", {{"status", "done"}, {"output", {{"letters", {{"$", "letters"}}}}}}}}}}}};
}

Json asked(const std::string& session = "", int max = 10, int wait_ms = 0) {
  Json body = {{"worker", "w"},
               {"queues", {queue()}},
               {"handlers", {{{"name", "py.count"}, {"version", 3}}}},
               {"max", max},
               {"wait_ms", wait_ms}};
  if (!session.empty()) body["session"] = session;
  return body;
}

Json report_of(const Json& claim) {
  return {{"claim", claim["claim"]},
          {"patch", {{"letters", claim["input"]["text"].get<std::string>().size()}}},
          {"facts", {{{"type", "tool_called"}, {"tool", "wc"}, {"ok", true}, {"latency_ms", 1}}}}};
}

class Claims : public ::testing::Test {
 protected:
  Claims() { EXPECT_EQ(server.post("/api/v1/graphs", py_graph("py_count")).status, 201); }

  std::string start(const std::string& text) {
    return server.post(runs, {{"graph", "py_count"}, {"input", {{"text", text}}}}).json().at("run");
  }
  std::string status_of(const std::string& run) { return server.get(runs + "/" + run).json().at("status"); }
  static Json ok(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? reply.json() : Json::object();
  }
  static bool has_session(const Server& at) {
    const Json workers = at.get("/api/v1/workers").json();
    return std::any_of(workers.begin(), workers.end(), [](const Json& one) { return one.at("host") == "w"; });
  }
  Json one_claim() {
    const Json answer = ok(server.post(claims, asked("", 1, 5'000)));
    EXPECT_EQ(answer["claims"].size(), 1u) << answer;
    return answer;
  }
  // Executes what there is until nothing comes for a while.
  void work_off(Server& at) {
    Json answer = ok(at.post(claims, asked("", 10, 2'000)));
    while (!answer["claims"].empty()) {
      Json body = asked(answer["session"], 10, 500);
      for (const Json& claim : answer["claims"]) body["finished"].push_back(report_of(claim));
      answer = ok(at.post(claims, body));
      for (const Json& result : answer["results"]) EXPECT_EQ(result["status"], "committed") << result;
    }
  }

  Server server;
};

TEST_F(Claims, a_worker_over_http_executes_a_run_to_its_end) {
  const std::string run = start("hello");
  work_off(server);
  EXPECT_EQ(status_of(run), "done");
  EXPECT_EQ(server.get(runs + "/" + run).json()["output"], (Json{{"letters", 10}}));
  std::set<std::string> types;
  for (const Json& event : server.get(runs + "/" + run + "/events").json()) {
    types.insert(event["type"]);
    if (event["type"] != "step_succeeded") continue;
    EXPECT_EQ(event.value("handler_version", 0), 3) << event;
  }
  EXPECT_TRUE(types.contains("tool_called"));
}

TEST_F(Claims, the_handlers_that_a_worker_declares_are_known_to_the_check_of_graphs) {
  Json graph = py_graph("py_declared");
  for (const char* node : {"one", "two"}) {
    graph["nodes"][node].erase("labels");
    graph["nodes"][node]["do"] = "py.declared";
  }
  EXPECT_EQ(server.post("/api/v1/graphs", graph).status, 400) << "no one knows its labels";
  Json body = asked("", 0);
  body["handlers"] = {{{"name", "py.declared"},
                       {"labels", {"ok", "none"}},
                       {"schema", {{"type", "object"}, {"required", {"text", "language"}}}}}};
  EXPECT_EQ(server.post(claims, body).status, 200);
  const Json missing = server.post("/api/v1/graphs/check", graph).json();
  EXPECT_NE(missing["faults"].dump().find("none"), std::string::npos) << missing;
  for (const char* node : {"one", "two"}) graph["nodes"][node]["on"]["none"] = "end";
  const Json checked = server.post("/api/v1/graphs/check", graph).json();
  EXPECT_EQ(checked["ok"], true) << checked;
  EXPECT_NE(checked["warnings"].dump().find("the settings of py.declared: Expected \\\"language\\\""),
            std::string::npos)
      << checked;
  EXPECT_EQ(server.post("/api/v1/graphs", graph).status, 201);
  EXPECT_NE(server.get("/api/v1/workers").body.find("\"labels\":[\"ok\",\"none\"]"), std::string::npos)
      << server.get("/api/v1/workers").body;
}

TEST_F(Claims, one_by_one_the_same_report_is_already_there_and_another_is_a_conflict) {
  const std::string run = start("hi");
  const Json answer = one_claim();
  const std::string at = claims + "/" + answer["claims"][0]["claim"].get<std::string>();
  EXPECT_EQ(ok(server.post(at + "/complete", {{"label", "ok"}, {"patch", {{"letters", 2}}}}))["status"], "committed");
  const Json ended = server.get(runs + "/" + run + "/events").json().at(1);
  EXPECT_EQ(ended.value("handler_version", 0), 3) << ended;
  EXPECT_EQ(ok(server.post(at + "/complete", {{"patch", {{"letters", 2}}}}))["status"], "already");
  const Reply other = server.post(at + "/complete", {{"patch", {{"letters", 9}}}});
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.json()["error"]["code"], "conflict");
  const Json next = ok(server.post(claims, asked(answer["session"], 1, 5'000)));
  const std::string second = claims + "/" + next["claims"].at(0)["claim"].get<std::string>();
  EXPECT_EQ(ok(server.post(second + "/release", {{"retry_ms", 0}}))["status"], "committed");
  EXPECT_EQ(server.post(second + "/complete", Json::object()).status, 409);
  const Reply twice = server.post(second + "/release", Json::object());
  EXPECT_EQ(twice.status, 409) << twice.body;
  EXPECT_EQ(twice.json()["error"]["code"], "stale");
  const Json again = ok(server.post(claims, asked(answer["session"], 1, 5'000)));
  const std::string third = claims + "/" + again["claims"].at(0)["claim"].get<std::string>();
  EXPECT_EQ(again["claims"][0]["attempt"], 1) << "a release is no attempt";
  EXPECT_EQ(ok(server.post(third + "/fail", {{"error", "It broke."}, {"again", false}}))["status"], "committed");
  EXPECT_EQ(status_of(run), "failed");
}

TEST_F(Claims, one_by_one_an_outcome_counts_as_its_worker_declared_through_any_server) {
  Json graph = py_graph("py_counted");
  for (const char* node : {"one", "two"}) graph["nodes"][node]["labels"] = {"counted"};
  graph["nodes"]["one"]["on"] = {{"counted", "two"}};
  graph["nodes"]["two"]["on"] = {{"counted", "end"}};
  ASSERT_EQ(server.post("/api/v1/graphs", graph).status, 201);
  const Server other;
  const Json start = {{"graph", "py_counted"}, {"input", {{"text", "hi"}}}};
  const std::string run = server.post(runs, start).json().at("run");
  std::string session;
  for (const Server* at : {&other, static_cast<const Server*>(&server)}) {
    Json body = asked(session, 1, 5'000);
    body["handlers"][0]["labels"] = {"counted"};
    const Json answer = ok(server.post(claims, body));
    ASSERT_EQ(answer["claims"].size(), 1u) << answer;
    session = answer["session"];
    const std::string claim = answer["claims"][0]["claim"];
    EXPECT_EQ(ok(at->post(claims + "/" + claim + "/complete", {{"patch", {{"letters", 2}}}}))["status"], "committed");
  }
  EXPECT_EQ(status_of(run), "done");
  std::size_t counted = 0;
  for (const Json& event : server.get(runs + "/" + run + "/events").json())
    if (event["type"] == "step_succeeded" && event.value("handler_version", 0) == 3) ++counted;
  EXPECT_EQ(counted, 2u) << "through each of them";
}

// Nothing counted them, so that no alert said of workers over HTTP that they stop for seconds.
TEST_F(Claims, a_report_that_comes_too_late_is_counted) {
  start("hi");
  const std::string at = claims + "/" + one_claim()["claims"].at(0)["claim"].get<std::string>();
  const auto counts = [this](const std::string& number) {
    const std::string text = server.get("/metrics").body;
    EXPECT_NE(text.find("\ncairn_worker_reports_refused_total " + number + "\n"), std::string::npos) << text;
  };
  counts("0");
  EXPECT_EQ(ok(server.post(at + "/release", {{"retry_ms", 0}}))["status"], "committed");
  counts("0");
  EXPECT_EQ(server.post(at + "/complete").json()["error"]["code"], "stale");
  counts("1");
}

TEST_F(Claims, a_server_that_is_killed_is_followed_by_another_one) {
  const std::string run = start("hello");
  Json claim;
  std::string session;
  {
    Server first;
    const Json answer = ok(first.post(claims, asked("", 1, 5'000)));
    claim = answer["claims"].at(0);
    session = answer["session"];
    first.process().signal(SIGKILL);
    first.process().wait();
  }
  const Json heard = ok(server.post(claims + "/heartbeat", {{"session", session}, {"claims", {claim["claim"]}}}));
  EXPECT_EQ(heard, (Json{{"cancel", Json::array()}, {"stale", Json::array()}}));
  Json body = asked(session, 1, 0);
  body["finished"].push_back(report_of(claim));
  const Json next = ok(server.post(claims, body));
  EXPECT_EQ(next["session"], session);
  EXPECT_EQ(next["results"].at(0)["status"], "committed");
  ASSERT_EQ(next["claims"].size(), 1u);
  Json last = asked(session, 0);
  last["finished"].push_back(report_of(next["claims"][0]));
  last["close"] = true;
  EXPECT_EQ(ok(server.post(claims, last))["results"].at(0)["status"], "committed");
  EXPECT_EQ(status_of(run), "done");
}

TEST_F(Claims, a_heartbeat_says_what_was_cancelled_and_shows_progress) {
  const std::string run = start("hello");
  const Json answer = one_claim();
  const Json claim = answer["claims"][0]["claim"];
  const Json body = {
      {"session", answer["session"]}, {"claims", {claim}}, {"progress", {{claim.get<std::string>(), "page 3 of 10"}}}};
  EXPECT_TRUE(ok(server.post(claims + "/heartbeat", body))["cancel"].empty());
  EXPECT_NE(server.get(runs + "/" + run).body.find("page 3 of 10"), std::string::npos);
  EXPECT_EQ(server.post(runs + "/" + run + "/cancel").status, 200);
  EXPECT_EQ(ok(server.post(claims + "/heartbeat", body))["cancel"], Json::array({claim}));
  const Reply late = server.post(claims + "/" + claim.get<std::string>() + "/complete", Json::object());
  EXPECT_EQ(late.status, 409) << late.body;
  EXPECT_EQ(late.json()["error"]["code"], "closed");
}

TEST_F(Claims, a_client_that_hangs_up_while_it_waits_takes_no_step_with_it) {
  {
    ApiConnection waiting(server.port());
    const std::string body = asked("", 5, 20'000).dump();
    waiting.send("POST " + claims +
                 " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
                 std::to_string(body.size()) + "\r\n\r\n" + body);
    EXPECT_TRUE(wait_until([&] { return has_session(server); }));
  }
  const std::string run = start("hello");
  work_off(server);
  EXPECT_EQ(status_of(run), "done");
}

TEST_F(Claims, a_server_that_stops_answers_those_that_wait) {
  Server other;
  Reply reply;
  std::thread waiting([&] { reply = other.post(claims, asked("", 5, 30'000)); });
  EXPECT_TRUE(wait_until([&] { return has_session(server); }));
  other.process().signal(SIGTERM);
  waiting.join();
  EXPECT_EQ(other.process().wait(), 0);
  EXPECT_TRUE(ok(reply)["claims"].empty());
  EXPECT_EQ(ok(reply)["drain"], true);
  EXPECT_FALSE(ok(server.post(claims, asked("", 0))).contains("drain")) << "one that goes on";
}

TEST_F(Claims, wrong_bodies_are_refused_in_one_sentence) {
  const std::string run = start("x");
  const Json answer = one_claim();
  const std::string claim = answer["claims"][0]["claim"];
  const auto with = [](Json body, const std::string& name, Json value) {
    body[name] = std::move(value);
    return body;
  };
  const std::vector<std::pair<Json, std::string>> wrong = {
      {with(asked(), "worker", 3), "as worker"},
      {with(asked(), "queues", "py"), "a list of texts as queues"},
      {with(asked(), "queues", {"py", "py"}), "each name once in queues"},
      {with(asked(), "session", "x"), "a session as POST /claims gave it"},
      {with(asked(), "max", 1'001), "from 0 to 1000 as max"},
      {with(asked(), "wait_ms", -1), "as wait_ms"},
      {with(asked(), "handlers", {{{"name", ""}}}), "a text as name"},
      {with(asked(), "handlers", {"a", "a"}), "each name once in handlers"},
      {with(asked(), "tools", {{{"nme", "a"}}}), "name, queue, about"},
      {with(asked(), "handlers", {{{"name", "a"}, {"schema", 3}}}), "an object as schema"},
      {with(asked(), "handlers", {{{"name", "a"}, {"schema", {{"$ref", "#/none"}}}}}), "does not exist"},
      {with(asked(), "tools", {{{"name", "a"}, {"schema", {{"title", std::string(20'000, 'x')}}}}}), "16384 bytes"},
      {with(asked(), "finished", {{{"label", "ok"}}}), "claim"},
      {with(asked(), "finished", {{{"claim", "x"}}}), "the id of a claim"},
      {with(asked(), "finished", {{{"claim", claim}, {"patch", 1}}}), "an object as patch"},
      {with(asked(), "finished", {{{"claim", claim}, {"facts", {{{"type", "run_finished"}}}}}}), "a fact"},
      {with(asked(), "finished", {{{"claim", claim}, {"facts", {{{"type", "plan_created"}}}}}}), "plan_created"},
      {with(asked(), "finished", {{{"claim", claim}, {"facts", {{{"type", "model_called"}, {"tokens_in", "x"}}}}}}),
       "In a fact model_called: Expected a whole number from 0 to 1000000000000000 as tokens_in, but found \"x\"."},
      {with(asked(), "finished", {{{"claim", claim}, {"patch", {{"letters", 1}}}, {"error", "x"}}}),
       "patch beside error"},
      {with(asked(), "finished", {{{"claim", claim}, {"label", "ok"}, {"outputs", {{"a", 1}}}}}),
       "label beside outputs"},
      {with(asked(), "finished", {{{"claim", claim}, {"release", true}, {"patch", {{"letters", 1}}}}}),
       "patch beside release"},
      {with(asked(), "finished", {{{"claim", claim}, {"release", true}, {"error", "x"}}}), "error beside release"},
      {with(asked(), "finished", {{{"claim", claim}, {"patch", {{"letters", 1}}}, {"again", true}}}),
       "again beside an outcome"},
      {with(asked(), "other", 1), "but found \"other\""}};
  for (const auto& [body, says] : wrong) {
    const Reply reply = server.post(claims, body);
    EXPECT_EQ(reply.status, 400) << body << reply.body;
    EXPECT_NE(reply.json()["error"]["message"].get<std::string>().find(says), std::string::npos) << reply.body;
  }
  EXPECT_EQ(server.post(claims + "/nothing/complete").status, 400);
  EXPECT_EQ(server.post(claims + "/heartbeat", {{"session", "77"}, {"claims", Json::array()}}).status, 404);
  EXPECT_EQ(server.post(claims + "/heartbeat", {{"session", nullptr}, {"claims", Json::array()}}).status, 400);
  EXPECT_EQ(server.post(claims + "/" + claim + "/fail", {{"error", nullptr}}).status, 400) << "it is needed";
  const Json says_nothing = {{"session", answer["session"]}, {"claims", {claim}}, {"progress", {{"x", "half"}}}};
  EXPECT_EQ(server.post(claims + "/heartbeat", says_nothing).status, 400) << "no claim has that name";
  const Json both = {{"patch", {{"letters", 1}}}, {"outputs", {{"a", 1}}}};
  EXPECT_EQ(server.post(claims + "/" + claim + "/complete", both).status, 400);
  const Reply outputs = server.post(claims + "/" + claim + "/complete", {{"outputs", {{"a", 1}}}});
  EXPECT_EQ(outputs.status, 400) << outputs.body;
  EXPECT_NE(outputs.message().find("the claim is a handler's"), std::string::npos) << outputs.body;
  EXPECT_EQ(server.post(claims + "/" + claim + "/complete", {{"patch", Json::object()}}).status, 200) << "it is held";
  EXPECT_EQ(server.post(runs + "/" + run + "/cancel").status, 200);
}

TEST_F(Claims, a_claim_of_another_session_is_stale_to_a_heartbeat) {
  const std::string run = start("foreign");
  const Json mine = one_claim();
  const Json other = ok(server.post(claims, asked("", 0)));
  const auto stale_of = [&](const Json& session) {
    const Json heard =
        ok(server.post(claims + "/heartbeat", {{"session", session}, {"claims", {mine["claims"][0]["claim"]}}}));
    EXPECT_EQ(heard["cancel"], Json::array());
    return heard["stale"];
  };
  EXPECT_EQ(stale_of(other["session"]), Json::array({mine["claims"][0]["claim"]}));
  EXPECT_EQ(stale_of(mine["session"]), Json::array());
  EXPECT_EQ(server.post(runs + "/" + run + "/cancel").status, 200);
}

TEST_F(Claims, a_fact_that_is_refused_leaves_the_step_as_it_was) {
  const std::string run = start("facts");
  const std::string at = claims + "/" + one_claim()["claims"][0]["claim"].get<std::string>();
  const auto reported = [&](const Json& fields, const std::string& how) {
    Json fact = fields;
    fact["type"] = "model_called";
    Json body = {{"facts", {fact}}};
    if (how == "/fail") body["error"] = "busy";
    return server.post(at + how, body).status;
  };
  for (const Json& wrong : {Json{{"model", 5}}, Json{{"tokens_out", {1}}}, Json{{"tokens_in", -1}},
                            Json{{"tokens_in", 1.5}}, Json{{"tokens_in", 2'000'000'000'000'000}},
                            Json{{"cost", "free"}}, Json{{"cost", -0.1}}, Json{{"latency_ms", -1}}, Json{{"ok", 1}}})
    for (const char* how : {"/complete", "/fail"}) EXPECT_EQ(reported(wrong, how), 400) << wrong << how;
  for (const Json& event : server.get(runs + "/" + run + "/events").json()) EXPECT_NE(event["type"], "model_called");
  const Json right = {{"model", "m"}, {"tokens_in", 5}, {"cost", 0.5}, {"more", {1}}};
  EXPECT_EQ(reported(right, "/complete"), 200) << "other fields may be anything";
  EXPECT_EQ(server.post(runs + "/" + run + "/cancel").status, 200);
}

TEST(ClaimTokens, a_worker_s_token_claims_from_its_queues_and_uses_its_own_sessions) {
  const std::string dsn = new_database();
  const std::string ann = new_token(dsn, "ann", {"--role", "worker", "--scope", "queue=" + queue()});
  const std::string eve = new_token(dsn, "eve", {"--role", "worker"});
  const std::string few = new_token(dsn, "few", {"--role", "worker", "--scope", "graph=py_count"});
  const std::string reader = new_token(dsn, "reader", {"--role", "read"});
  const std::string admin = new_token(dsn, "admin", {"--role", "admin"});
  const Server server({"--dsn", dsn});
  EXPECT_EQ(server.post("/api/v1/graphs", py_graph("py_count"), bearer(admin)).status, 201);
  EXPECT_EQ(server.post(runs, {{"graph", "py_count"}, {"input", {{"text", "a"}}}}, bearer(admin)).status, 201);
  EXPECT_EQ(server.post(claims, asked(), bearer(reader)).status, 403);
  EXPECT_EQ(server.post(claims, asked(), bearer(few)).status, 403);
  Json elsewhere = asked();
  elsewhere["queues"] = {"default"};
  EXPECT_EQ(server.post(claims, elsewhere, bearer(ann)).status, 403);
  Json sends_elsewhere = asked("", 0);
  sends_elsewhere["tools"] = Json::array({Json{{"name", "charge"}, {"queue", "nowhere"}}});
  EXPECT_EQ(server.post(claims, sends_elsewhere, bearer(ann)).status, 403) << "sub-goals that name it would go there";
  const Json answer = server.post(claims, asked("", 1, 5'000), bearer(ann)).json();
  const std::string claim = answer["claims"].at(0)["claim"];
  EXPECT_EQ(server.post(claims, asked(answer["session"]), bearer(eve)).status, 404);
  EXPECT_EQ(server.post(claims + "/" + claim + "/complete", Json::object(), bearer(eve)).status, 404);
  EXPECT_EQ(
      server.post(claims + "/heartbeat", {{"session", answer["session"]}, {"claims", {claim}}}, bearer(eve)).status,
      404);
  const std::string value = "/api/v1/blobs/" + hex(sha256(std::string("1"))) + "?claim=" + claim;
  const auto put_by = [&](const std::string& token) {
    Headers headers = bearer(token);
    headers.emplace_back("Content-Type", "application/json");
    return ApiConnection(server.port()).ask("PUT", value, "1", headers).status;
  };
  EXPECT_EQ(put_by(eve), 404) << "another token's claim";
  EXPECT_EQ(put_by(ann), 200);
  EXPECT_EQ(server.get(value, bearer(eve)).status, 404);
  EXPECT_EQ(server.get(value, bearer(ann)).body, "1");
  EXPECT_EQ(server.post(claims + "/" + claim + "/complete", {{"patch", {{"letters", 1}}}}, bearer(ann)).status, 200);
}

}  // namespace
}  // namespace cairn::program
