// The API as its clients see it: every route, against `cairn serve` and `cairn work`, compared with what the command
// line says.
#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"
#include "workers/tools/page/action.hpp"

namespace cairn::program {
namespace {

Json signal_graph(const std::string& name) {
  return {
      {"name", name},
      {"start", "wait"},
      {"limits", {{"steps", 10}}},
      {"nodes",
       {{"wait", {{"wait", {{"signal", "go"}}}, {"into", "went"}, {"on", {{"fired", "finish"}}}}},
        {"finish", {{"end", {{"status", "done"}, {"output", {{"went", {{"$", "went"}, {"default", nullptr}}}}}}}}}}}};
}

// A worker calls a tool, then the question of ask_graph is asked.
Json work_and_ask_graph(const std::string& name) {
  Json graph = Json::parse(ask_graph(name));
  graph["start"] = "work";
  graph["nodes"]["work"] = {
      {"do", "tool.call"}, {"with", {{"tool", "echo"}, {"inputs", Json::object()}}}, {"on", {{"ok", "region"}}}};
  return graph;
}

// A server for the tests of this file, with a graph that asks and one that waits for a signal.
class Api : public ::testing::Test {
 protected:
  Api() {
    EXPECT_EQ(server.post("/api/v1/graphs", work_and_ask_graph("api_ask")).status, 201);
    EXPECT_EQ(server.post("/api/v1/graphs", signal_graph("api_signal")).status, 201);
  }

  std::string start(const std::string& graph, Json more = Json::object()) {
    more["graph"] = graph;
    const Reply reply = server.post(runs, more);
    EXPECT_EQ(reply.status, 201) << reply.body;
    return reply.status == 201 ? reply.json().at("run").get<std::string>() : nobody;
  }
  std::string at(const std::string& run, const std::string& what = "") { return runs + "/" + run + what; }
  std::string status_of(const std::string& run) { return server.get(at(run)).json().at("status"); }
  bool waits_for(const std::string& run, const std::string& status) {
    return wait_until([&] { return status_of(run) == status; });
  }

  Server server;
};

void expect_error(const Reply& reply, int status, const std::string& code, const std::string& says) {
  EXPECT_EQ(reply.status, status) << reply.body;
  EXPECT_EQ(reply.type, "application/json");
  ASSERT_TRUE(Json::accept(reply.body)) << reply.body;
  const Json error = reply.json().at("error");
  EXPECT_EQ(error.at("code"), code);
  EXPECT_NE(error.at("message").get<std::string>().find(says), std::string::npos) << error;
}

TEST_F(Api, a_run_that_is_started_over_http_is_the_one_that_the_command_line_shows) {
  EXPECT_EQ(server.get("/healthz").json(), Json::parse(R"({"alive": true})"));
  EXPECT_EQ(server.get("/readyz").json(), Json::parse(R"({"ready": true})"));
  const std::string run = start("api_ask", {{"input", {{"a", 1}}}, {"tags", {{"team", "a b"}}}});
  const Reply shown = server.get(at(run));
  EXPECT_EQ(shown.status, 200);
  EXPECT_EQ(shown.type, "application/json");
  EXPECT_EQ(shown.body, cairn_ok({"show", run, "--json"}).out);
  EXPECT_EQ(shown.json().at("channels").at("a"), 1);
}

TEST_F(Api, a_key_starts_one_run) {
  const Json asked = {{"graph", "api_ask"}, {"input", {{"n", 1}}}, {"key", "once"}};
  const Reply first = server.post(runs, asked);
  const Reply again = server.post(runs, asked);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(first.body, again.body);
  expect_error(server.post(runs, {{"graph", "api_ask"}, {"input", {{"n", 2}}}, {"key", "once"}}), 409, "conflict",
               "Expected the input");
}

TEST_F(Api, lists_are_those_of_the_command_line) {
  const std::string run = start("api_ask", {{"tags", {{"of", "lists, and=more"}}}});
  const std::string of = "?tag=of%3Dlists%2C%20and%3Dmore";
  const Headers lines = {{"Accept", "application/x-ndjson"}};
  EXPECT_EQ(server.get(runs + of + "&graph=api_ask&status=running&limit=5").json()[0]["run"], run);
  EXPECT_EQ(server.get(runs + of + "&graph=api_ask&status=waiting").json(), Json::array());
  Beside worker({"work"});
  EXPECT_TRUE(waits_for(run, "waiting"));
  const Reply listed = server.get(runs + of + "&graph=api_ask&status=waiting&since=2020-01-01", lines);
  EXPECT_EQ(listed.type, "application/x-ndjson");
  EXPECT_EQ(listed.body, cairn_ok({"runs", "--tag", "of=lists, and=more", "--json"}).out);
  EXPECT_EQ(server.get(runs + "?lineage=" + run).json()[0]["run"], run);
  EXPECT_EQ(server.get("/api/v1/graphs", lines).body, cairn_ok({"graph", "list", "--json"}).out);
  EXPECT_EQ(server.get("/api/v1/queues").json().size(), cairn_ok({"queue", "--json"}).lines().size());
  const Json workers = server.get("/api/v1/workers").json();
  EXPECT_TRUE(std::any_of(workers.begin(), workers.end(), [&](const Json& one) { return one["pid"] == worker.pid(); }))
      << workers;
}

TEST_F(Api, a_run_is_read_as_the_command_line_reads_it) {
  const std::string run =
      cairn_ok({"start", "plan_runner", "--input",
                R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo", "inputs": {"n": 1}}]})", "--wait", "--json"})
          .json()["run"];
  const Headers lines = {{"Accept", "application/x-ndjson"}};
  EXPECT_EQ(server.get(at(run, "?at=2")).body, cairn_ok({"show", run, "--at", "2", "--json"}).out);
  EXPECT_EQ(server.get(at(run, "/plan")).body, cairn_ok({"plan", run, "--json"}).out);
  EXPECT_EQ(server.get(at(run, "/plan?at=2")).body, cairn_ok({"plan", run, "--at", "2", "--json"}).out);
  EXPECT_EQ(server.get(at(run, "/explain")).body, cairn_ok({"explain", run, "--json"}).out);
  EXPECT_EQ(server.get(at(run, "/events"), lines).body, cairn_ok({"events", run, "--json"}).out);
  const Json some = server.get(at(run, "/events?from=2&limit=2")).json();
  ASSERT_EQ(some.size(), 2U);
  EXPECT_EQ(some[0]["seq"], 2);
}

TEST_F(Api, an_answer_a_signal_and_every_control_do_what_they_say) {
  Beside worker({"work"});
  const std::string asked = start("api_ask");
  EXPECT_TRUE(waits_for(asked, "waiting"));
  expect_error(server.post(at(asked, "/answers"), {{"value", 7}}), 400, "invalid", "Expected");
  const std::string question = server.get(at(asked)).json()["questions"][0]["id"];
  EXPECT_EQ(server.post(at(asked, "/answers"), {{"value", "north"}}).json(),
            Json({{"run", asked}, {"question", question}}));
  EXPECT_TRUE(waits_for(asked, "done"));
  EXPECT_EQ(server.get(at(asked)).json()["output"]["region"], "north");
  for (const Json& again : {Json{{"question", question}, {"value", "south"}}, Json{{"value", "south"}}})
    expect_error(server.post(at(asked, "/answers"), again), 409, "closed",
                 "Expected question " + question + " of run " + asked + " to be open, but it was answered by api at 2");

  const std::string signalled = start("api_signal");
  EXPECT_EQ(server.post(at(signalled, "/pause")).json()["status"], "paused");
  expect_error(server.post(at(signalled, "/pause")), 409, "conflict", "Expected");
  EXPECT_EQ(server.post(at(signalled, "/resume")).status, 200);
  const Json sent = {{"name", "go"}, {"value", {1, 2}}, {"id", "s1"}};
  EXPECT_EQ(server.post(at(signalled, "/signals"), sent).json(),
            Json({{"run", signalled}, {"signal", "go"}, {"id", "s1"}, {"waited_for", true}}));
  EXPECT_TRUE(waits_for(signalled, "done"));
  expect_error(server.post(at(signalled, "/retry")), 409, "conflict", "Expected");

  const std::string cancelled = start("api_signal");
  EXPECT_EQ(server.post(at(cancelled, "/cancel"), {{"reason", "not needed"}}).json()["status"], "aborted");
  EXPECT_EQ(server.get(at(cancelled)).json()["reason"], "not needed");
}

TEST_F(Api, F28_a_signal_that_no_node_waits_for_is_answered_with_a_hint) {
  const std::string run = start("api_signal");
  const Reply sent = server.post(at(run, "/signals"), {{"name", "gone"}, {"value", 1}});
  EXPECT_EQ(sent.status, 200) << "it is kept all the same";
  EXPECT_EQ(sent.json()["waited_for"], false);
  EXPECT_EQ(sent.json()["hint"], "No node of graph api_signal waits for a signal gone; it is kept for nothing.");
  EXPECT_EQ(cairn_ok({"signal", run, "gone", "--value", "1", "--json"}).json()["waited_for"], false);
  server.post(at(run, "/cancel"));
}

TEST_F(Api, several_runs_are_started_by_one_request_each_with_a_key_of_its_own) {
  const Json many = {{"graph", "api_ask"},
                     {"tags", {{"of", "many"}}},
                     {"runs",
                      {{{"key", "many-1"}, {"input", {{"n", 1}}}},
                       {{"key", "many-2"}, {"input", {{"n", 2}}}, {"tags", {{"odd", "no"}}}},
                       Json::object()}}};
  const Reply first = server.post(runs, many);
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(first.json()["started"], 3);
  ASSERT_EQ(first.json()["runs"].size(), 3U);
  const std::string second_run = first.json()["runs"][1]["run"];
  const Json shown = server.get(at(second_run)).json();
  EXPECT_EQ(shown["input"], Json({{"n", 2}}));
  EXPECT_EQ(shown["tags"], Json({{"odd", "no"}, {"of", "many"}}));
  EXPECT_EQ(shown["key"], "many-2");
  Json again = many;
  again["runs"].erase(2);
  const Reply other = server.post(runs, again);
  EXPECT_EQ(other.status, 200) << "nothing new came of it: " << other.body;
  EXPECT_EQ(other.json()["started"], 0);
  EXPECT_EQ(other.json()["runs"][1], Json({{"run", second_run}, {"existed", true}, {"start", "started"}}));
  again["runs"][0]["input"]["n"] = 7;
  const Reply changed = server.post(runs, again);
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.json()["runs"][0]["error"]["code"], "conflict") << changed.body;
  EXPECT_EQ(changed.json()["runs"][1]["existed"], true) << "the others are there all the same";
}

TEST_F(Api, a_fault_in_one_of_several_runs_starts_none_of_them) {
  const auto count = [&] { return server.get(runs + "?tag=of%3Dfaulty").json().size(); };
  const Json common = {{"graph", "api_ask"}, {"tags", {{"of", "faulty"}}}};
  const auto with = [&](const Json& several) {
    Json body = common;
    body["runs"] = several;
    return server.post(runs, body);
  };
  expect_error(with({Json::object(), {{"input", 7}}}), 400, "invalid", "Run 2: Expected an object as input");
  expect_error(with({Json::object(), {{"graph", "x"}}}), 400, "invalid", "Run 2: Expected input, key, tags");
  expect_error(with(Json::array()), 400, "invalid", "Expected a list of 1 to 1000 runs, but found 0.");
  expect_error(with("all"), 400, "invalid", "Expected a list of 1 to 1000 runs, but found \"all\".");
  expect_error(with(Json(1001, Json::object())), 400, "invalid", "but found 1001.");
  Json unknown = common;
  unknown["graph"] = "api_aks";
  unknown["runs"] = Json::array({Json::object()});
  expect_error(server.post(runs, unknown), 404, "not_found", "api_aks");
  EXPECT_EQ(count(), 0U);
}

TEST_F(Api, an_export_of_a_run_is_that_of_the_command) {
  const std::string run = start("api_signal");
  server.post(at(run, "/cancel"));
  const Reply exported = server.get(at(run, "/export"));
  EXPECT_EQ(exported.status, 200) << exported.body;
  EXPECT_EQ(exported.type, "application/x-ndjson");
  EXPECT_EQ(exported.header("Content-Disposition"), "attachment; filename=\"" + run + ".jsonl\"");
  const std::string file = write_file("exported.jsonl", exported.body);
  EXPECT_EQ(cairn({"verify", "--file", file}).exit, 0) << cairn({"verify", "--file", file}).out;
  const std::string data = (directory() / "export_data").string();
  cairn_ok({"import", file, "--data", data});
  EXPECT_EQ(cairn_ok({"show", run, "--json", "--data", data}).json()["status"], "aborted");
  cairn_ok({"down", "--data", data});
  expect_error(server.get(at(nobody, "/export")), 404, "not_found", "run");
  expect_error(server.get(at(run, "/export?raw=true")), 400, "invalid", "raw");
}

TEST_F(Api, a_reason_is_always_there_and_null_where_there_is_none) {
  const std::string open = start("api_signal");
  for (const Json& shown : {server.get(at(open)).json(), cairn_ok({"show", open, "--json"}).json(),
                            cairn_ok({"runs", "--lineage", open, "--json"}).json()})
    EXPECT_TRUE(shown.contains("reason") && shown["reason"].is_null()) << shown;
  Beside worker({"work"});
  server.post(at(open, "/signals"), {{"name", "go"}, {"value", 1}});
  EXPECT_TRUE(waits_for(open, "done"));
  for (const Json& shown : {server.get(at(open)).json(), cairn_ok({"show", open, "--json"}).json(),
                            cairn_ok({"runs", "--lineage", open, "--json"}).json()})
    EXPECT_TRUE(shown.contains("reason") && shown["reason"].is_null()) << shown;
}

TEST_F(Api, a_failed_run_is_tried_again_and_a_run_is_forked) {
  Beside worker({"work"});
  Json failing = signal_graph("api_failing");
  failing["nodes"]["wait"] = {{"do", "tool.call"},
                              {"with", {{"tool", "fail"}, {"inputs", {{"message", "no"}, {"times", 1}}}}},
                              {"on", {{"ok", "finish"}}}};
  EXPECT_EQ(server.post("/api/v1/graphs", failing).status, 201);
  const std::string failed = start("api_failing", {{"input", {{"went", 1}}}});
  EXPECT_TRUE(waits_for(failed, "failed"));
  EXPECT_EQ(server.post(at(failed, "/retry")).json()["status"], "running");
  EXPECT_TRUE(waits_for(failed, "failed"));
  const std::string asked = start("api_ask");
  EXPECT_TRUE(waits_for(asked, "waiting"));
  const Json shown = server.get(at(asked)).json();
  const std::string question = shown["questions"][0]["id"];
  const Reply forked = server.post(
      at(asked, "/fork"), {{"at", shown["seq"]}, {"answer", {{question, "east"}}}, {"reason", "The wind has turned."}});
  EXPECT_EQ(forked.status, 201) << forked.body;
  const std::string fork = forked.json()["run"];
  EXPECT_TRUE(waits_for(fork, "done"));
  EXPECT_EQ(server.get(at(fork)).json()["output"]["region"], "east");
  EXPECT_EQ(server.get(at(fork, "/events")).json()[0]["reason"], "The wind has turned.");
  EXPECT_EQ(status_of(asked), "waiting");
  expect_error(server.post(at(asked, "/fork"), {{"at", 999}}), 400, "invalid", "sequence number");
}

TEST_F(Api, a_fork_inside_of_a_commit_is_refused_with_the_events_next_to_it_as_data) {
  Beside worker({"work"});
  const std::string run = start("api_ask");
  EXPECT_TRUE(waits_for(run, "waiting"));
  EXPECT_EQ(server.post(at(run, "/answers"), {{"value", "east"}}).status, 200);
  EXPECT_TRUE(waits_for(run, "done"));
  std::int64_t inside = 0;
  for (const Json& event : server.get(at(run, "/events")).json())
    if (event["type"] == "question_answered") inside = event["seq"];  // the step that it ends is of the same commit
  const Reply refused = server.post(at(run, "/fork"), {{"at", inside}});
  expect_error(refused, 400, "invalid", "stands inside one");
  const Json ends = refused.json()["error"]["ends"];
  ASSERT_EQ(ends.size(), 2U) << refused.body;
  EXPECT_LT(ends[0], inside);
  EXPECT_GT(ends[1], inside);
  EXPECT_EQ(server.post(at(run, "/fork"), {{"at", ends[0]}}).status, 201);
  EXPECT_FALSE(server.post(at(run, "/fork"), {{"at", 999}}).json()["error"].contains("ends"));
}

TEST_F(Api, graphs_are_added_shown_and_drawn) {
  const Json first = signal_graph("api_drawn");
  const Reply added = server.post("/api/v1/graphs", first);
  EXPECT_EQ(added.status, 201);
  EXPECT_EQ(server.get("/api/v1/graphs/api_drawn").json(), first);
  EXPECT_EQ(server.get("/api/v1/graphs/" + added.json()["version"].get<std::string>()).json(), first);
  for (const char* format : {"mermaid", "dot", "svg"})
    EXPECT_EQ(server.get(std::string("/api/v1/graphs/api_drawn?format=") + format).body,
              cairn_ok({"graph", "show", "api_drawn", "--format", format}).out);
  EXPECT_EQ(server.get("/api/v1/graphs/api_drawn?format=svg").type, "image/svg+xml");
  Json unknown = first;
  unknown["nodes"]["w"] = {{"do", "data.pik"}, {"labels", {"ok"}}, {"on", {{"ok", unknown["start"]}}}};
  unknown["start"] = "w";
  const Server alone({"--dsn", new_database()});  // no worker of others says which handlers there are
  const Json review = alone.post("/api/v1/graphs/check", unknown).json();
  EXPECT_EQ(review["ok"], true) << review;
  EXPECT_NE(review["warnings"].dump().find("did you mean data.pick?"), std::string::npos) << review;
  EXPECT_EQ(server.post("/api/v1/graphs/check", {{"name", "bad"}}).json()["ok"], false);
  EXPECT_EQ(added.json()["warnings"], Json::array());
  expect_error(server.post("/api/v1/graphs", {{"name", "bad"}}), 400, "invalid", "");
  expect_error(server.get("/api/v1/graphs/none"), 404, "not_found", "Expected a graph named none");
}

TEST_F(Api, a_graph_that_another_process_added_is_the_current_one_at_once) {
  start("api_signal");
  Json changed = signal_graph("api_signal");
  changed["limits"]["steps"] = 11;
  const Json added = cairn_ok({"graph", "add", "-", "--json"}, changed.dump()).json();
  for (int client = 0; client < 6; ++client)
    EXPECT_EQ(server.get(runs + "?lineage=" + start("api_signal")).json()[0]["version"], added["version"]);
}

TEST_F(Api, metrics_count_runs_jobs_and_sessions) {
  const std::string run = start("api_ask");
  const Reply metrics = server.get("/metrics");
  EXPECT_EQ(metrics.type, "text/plain; version=0.0.4; charset=utf-8");
  const auto running = cairn_ok({"runs", "--status", "running", "--limit", "100000", "--json"}).lines().size();
  const std::string line = "\ncairn_runs{status=\"running\"} " + std::to_string(running) + "\n";
  EXPECT_NE(metrics.body.find(line), std::string::npos) << line << metrics.body;
  for (const char* part : {"cairn_jobs{queue=\"", ",state=\"ready\"} ", "cairn_oldest_ready_seconds{queue=\"",
                           "cairn_sessions{state=\"alive\"} ", "# TYPE cairn_runs gauge\n"})
    EXPECT_NE(metrics.body.find(part), std::string::npos) << part;
  cairn_ok({"cancel", run});
}

// --- what is refused -------------------------------------------------------------------------------------------------

TEST_F(Api, faults_of_a_request_have_their_status_code_and_sentence) {
  const auto post = [this](const std::string& body, const std::string& type) {
    return ApiConnection(server.port()).ask("POST", runs, body, {{"Content-Type", type}});
  };
  expect_error(server.get("/api/v1/nothing"), 404, "not_found", "path");
  expect_error(server.get("/api/v1/runs/" + nobody), 404, "not_found", nobody);
  expect_error(server.get("/api/v1/runs/none"), 404, "not_found", "none");
  expect_error(server.get("nowhere"), 400, "invalid", "path");
  expect_error(post("{\"graph\"", "application/json"), 400, "invalid", "the body");
  expect_error(post("[]", "application/json"), 400, "invalid", "JSON object");
  expect_error(post("{}", "text/plain"), 415, "invalid", "application/json");
  EXPECT_EQ(post(R"({"graph": "api_ask"})", "Application/JSON; charset=utf-8").status, 201);
  const auto coded = [this](const std::string& coding) {
    return ApiConnection(server.port())
        .ask("POST", runs, R"({"graph": "api_ask"})",
             {{"Content-Type", "application/json"}, {"Content-Encoding", coding}});
  };
  expect_error(coded("gzip"), 415, "invalid", "its Content-Encoding is \"gzip\"");
  EXPECT_EQ(coded("Identity").status, 201);
  expect_error(server.post(runs), 400, "invalid", "graph");
  expect_error(server.post(runs, {{"graph", "none"}}), 404, "not_found", "none");
  expect_error(server.post(runs, {{"graph", "api_ask"}, {"inptu", 1}}), 400, "invalid", "inptu");
  expect_error(server.post(runs, {{"graph", "api_ask"}, {"input", 1}}), 400, "invalid", "input");
  expect_error(server.post(runs, {{"graph", "api_ask"}, {"options", {{"priority", 10}}}}), 400, "invalid", "priority");
  expect_error(server.get(runs + "?stauts=done"), 400, "invalid", "stauts");
  expect_error(server.get(runs + "?limit=0"), 400, "invalid", "limit");
  const Reply method = ApiConnection(server.port()).ask("DELETE", runs);
  expect_error(method, 405, "invalid", "method");
  EXPECT_EQ(method.header("Allow"), "POST, GET, HEAD, OPTIONS");
}

TEST_F(Api, one_connection_takes_many_requests) {
  ApiConnection connection(server.port());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(connection.ask("GET", "/healthz").status, 200);
    EXPECT_EQ(connection.ask("GET", "/api/v1/nothing").status, 404);
    EXPECT_EQ(connection.ask("POST", runs, R"({"graph": "none"})", {{"Content-Type", "application/json"}}).status, 404);
  }
}

// --- events ----------------------------------------------------------------------------------------------------------

TEST_F(Api, a_stream_tells_events_as_they_happen_until_the_run_has_ended_and_goes_on_where_it_was_left) {
  const std::string run = start("api_ask");
  ApiStreamReader stream(server.port(), at(run, "/events"));
  EXPECT_EQ(stream.type(), "text/event-stream");
  std::vector<Json> told = {stream.next().value().data};
  EXPECT_EQ(told.back()["type"], "run_started");
  Beside worker({"work"});
  while (told.back()["type"] != "question_asked") told.push_back(stream.next().value().data);
  EXPECT_EQ(server.post(at(run, "/answers"), {{"value", "north"}}).status, 200);
  std::string last;
  while (const std::optional<StreamedEvent> event = stream.next()) {
    told.push_back(event->data);
    last = event->id;
  }
  EXPECT_EQ(told, cairn_ok({"events", run, "--json"}).lines());
  EXPECT_EQ(last, std::to_string(told.size()));

  ApiStreamReader again(server.port(), at(run, "/events"), {{"Last-Event-ID", "2"}});
  EXPECT_EQ(again.next().value().id, "3");
  ApiStreamReader from(server.port(), at(run, "/events?follow=true&from=3"));
  EXPECT_EQ(from.next().value().id, "3");
  const Headers all = {{"Accept", "text/event-stream"}, {"Last-Event-ID", last}};
  EXPECT_EQ(server.get(at(run, "/events"), all).status, 204);
  expect_error(server.get(at(nobody, "/events"), all), 404, "not_found", nobody);
  expect_error(server.get(at(run, "/events"), {{"Last-Event-ID", "x"}}), 400, "invalid", "Last-Event-ID");
}

// --- page_agent, whose page is the client's -------------------------------------------------------------------------

// A register that the test keeps, and performs actions on.
class Register {
 public:
  Json page() const {
    std::string rows;
    for (const std::string& name : names) rows += "<tr><td>" + name + "</td></tr>";
    const std::string form = "<form label=\"New patient\"><input id=2 name=\"name\" value=\"" + typed_ +
                             "\"><button id=3>Save</button><button id=4>Cancel</button></form>";
    return {{"url", "http://register/"},
            {"dom",
             "<h1>Patients</h1><button id=1>New patient</button><table>" + rows + "</table>" + (is_open_ ? form : "")}};
  }
  void perform(const std::string& text) {
    const Result<PageAction> action = parse_action(text);
    ASSERT_TRUE(action) << text;
    if (action->number == 1) is_open_ = true;
    if (action->number == 2) typed_ = action->value;
    if (action->number != 3 || typed_.empty()) return;
    names.push_back(typed_);
    is_open_ = false;
  }
  std::vector<std::string> names = {"Ada"};

 private:
  std::string typed_;
  bool is_open_ = false;
};

TEST_F(Api, a_client_with_a_page_of_its_own_does_what_page_agent_asks_it) {
  Beside worker({"work"});
  Register page;
  Json input = page.page();
  input.update({{"goal", "Add a new patient with name Jas"}, {"client", true}});
  const std::string run = start("page_agent", {{"input", input}});
  ApiStreamReader events(server.port(), at(run, "/events"));
  int actions = 0;
  while (const std::optional<StreamedEvent> event = events.next()) {
    if (event->data["type"] != "question_asked") continue;
    EXPECT_EQ(event->data["kind"], "client_action") << event->data;
    page.perform(event->data["prompt"]["action"]);
    const Reply answered =
        server.post(at(run, "/answers"), {{"question", event->data["question"]}, {"value", page.page()}});
    ASSERT_EQ(answered.status, 200) << answered.body;
    ASSERT_LT(++actions, 20);
  }
  const Json ended = server.get(at(run)).json();
  EXPECT_EQ(ended["status"], "done") << ended["reason"];
  EXPECT_EQ(ended["output"]["outcome"], "achieved");
  EXPECT_EQ(page.names, (std::vector<std::string>{"Ada", "Jas"}));
  EXPECT_EQ(actions, 3);
}

}  // namespace
}  // namespace cairn::program
