// Methods, types of content and headers of the API as HTTP has them: HEAD and OPTIONS, problem details, entity tags,
// keys of requests.
#include <gtest/gtest.h>

#include "tests/ops/api_client.hpp"

namespace cairn::program {
namespace {

const std::string graph_path = "/api/v1/graphs/plan_runner";

// The path with ids of what there is.
std::string filled(std::string path, const std::string& run) {
  const auto put = [&path](const std::string& part, const std::string& value) {
    if (const std::size_t at = path.find(part); at != std::string::npos) path.replace(at, part.size(), value);
  };
  put("{run}", run);
  put("graphs/{name}", "graphs/plan_runner");
  put("{folder}", "patterns");
  put("{name}", "none");
  put("{claim}", "none");
  put("{hash}", "none");
  put("{session}", "1");
  return path;
}

std::string start_one(const Server& server, const Headers& more = {}) {
  const Reply started = server.post(runs, {{"graph", "plan_runner"}}, more);
  EXPECT_EQ(started.status, 201) << started.body;
  return started.json().at("run");
}

TEST(ApiExchange, head_is_answered_as_get_is_without_the_body_on_every_path) {
  const Server server;
  const std::string run = start_one(server);
  int paths = 0;
  for (const auto& [path, item] : description()["paths"].items()) {
    ApiConnection connection(server.port());
    const std::string target = filled(path, run) + (path.ends_with("/feed") ? "?consumer=none" : "");
    if (!item.contains("get")) {
      EXPECT_EQ(connection.ask("HEAD", target).status, path.ends_with("/check") ? 404 : 405) << target;
      continue;
    }
    const Reply head = connection.ask("HEAD", target);
    const Reply got = connection.ask("GET", target);
    EXPECT_EQ(head.status, got.status) << target;
    EXPECT_EQ(head.type, got.type) << target;
    EXPECT_EQ(head.body, "") << target;
    EXPECT_EQ(head.header("ETag"), got.header("ETag")) << target;
    const bool is_the_same_later =
        path != "/metrics" && !path.ends_with("/workers") && !path.ends_with("/export") && !path.ends_with("/age");
    ++paths;
    if (!is_the_same_later) continue;
    EXPECT_EQ(head.header("Content-Length"), got.header("Content-Length")) << target;
  }
  EXPECT_GT(paths, 18);
}

TEST(ApiExchange, head_of_a_stream_ends_with_its_header) {
  const Server server;
  const std::string events = runs + "/" + start_one(server) + "/events";
  ApiConnection connection(server.port());
  const Reply head = connection.ask("HEAD", events, "", {{"Accept", "text/event-stream"}});
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.type, "text/event-stream");
  EXPECT_EQ(connection.ask("GET", events).json().size(), 1U) << "the connection takes another request";
}

TEST(ApiExchange, options_names_the_methods_of_every_path) {
  const Server server({"--probe-listen", "127.0.0.1:0"});
  const std::string run = start_one(server);
  int paths = 0;
  for (const auto& [path, item] : description()["paths"].items()) {
    if (path.ends_with("/check")) continue;  // it may be the name of a graph, too
    const Reply said = ApiConnection(server.port()).ask("OPTIONS", filled(path, run));
    EXPECT_EQ(said.status, 204) << path;
    EXPECT_EQ(said.body, "");
    EXPECT_EQ(said.header("Allow").find("GET, HEAD") != std::string::npos, item.contains("get")) << path;
    EXPECT_TRUE(said.header("Allow").ends_with("OPTIONS")) << path;
    ++paths;
  }
  EXPECT_GT(paths, 28);
  EXPECT_EQ(ApiConnection(server.port()).ask("OPTIONS", "/api/v1/graphs/check").header("Allow"),
            "POST, GET, HEAD, OPTIONS");
  EXPECT_EQ(ApiConnection(server.port()).ask("OPTIONS", "/api/v1/nothing").status, 404);
}

TEST(ApiExchange, a_client_that_accepts_problem_details_gets_them_next_to_the_error) {
  const Server server;
  const Headers problems = {{"Accept", "application/json, application/problem+json"}};
  for (const std::string& target : {runs + "/" + nobody, std::string("/api/v1/nothing"), runs + "?limit=x"}) {
    const Reply plain = server.get(target);
    const Reply problem = server.get(target, problems);
    EXPECT_EQ(plain.type, "application/json");
    EXPECT_EQ(problem.type, "application/problem+json");
    EXPECT_EQ(problem.status, plain.status);
    Json expected = plain.json();
    expected.update({{"type", "about:blank"},
                     {"title", plain.status == 404 ? "Not Found" : "Bad Request"},
                     {"status", plain.status},
                     {"detail", expected["error"]["message"]}});
    EXPECT_EQ(problem.json(), expected);
  }
  EXPECT_EQ(server.get(graph_path, problems).type, "application/json") << "no refusal";
  const Reply large = server.post(runs, {{"graph", std::string(2 << 20, 'x')}}, problems);
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(large.type, "application/problem+json");
}

TEST(ApiExchange, a_graph_has_its_version_as_tag_and_is_not_sent_again_to_a_client_that_has_it) {
  const Server server;
  const Reply first = server.get(graph_path);
  const std::string tag = first.header("ETag");
  EXPECT_EQ(server.get("/api/v1/graphs/" + tag.substr(1, tag.size() - 2)).json(), first.json());
  const Reply again = server.get(graph_path, {{"If-None-Match", tag}});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(again.header("ETag"), tag);
  const Reply drawn = server.get(graph_path + "?format=mermaid", {{"If-None-Match", tag}});
  EXPECT_EQ(drawn.status, 200) << "it is other content";
  EXPECT_EQ(server.get(graph_path + "?format=mermaid", {{"If-None-Match", drawn.header("ETag")}}).status, 304);
}

TEST(ApiExchange, an_idempotency_key_is_the_key_of_a_start) {
  const Server server;
  const Headers key = {{"Idempotency-Key", "exchange-1"}};
  const std::string run = start_one(server, key);
  const auto again = [&server](const Json& more, const std::string& header) {
    Json body = {{"graph", "plan_runner"}};
    body.update(more);
    return server.post(runs, body, {{"Idempotency-Key", header}});
  };
  EXPECT_EQ(server.get(runs + "/" + run).json().at("key"), "exchange-1");
  for (const char* header : {"exchange-1", "\"exchange-1\""}) {
    EXPECT_EQ(again(Json::object(), header).status, 200);
    EXPECT_EQ(again(Json::object(), header).json().at("run"), run);
  }
  EXPECT_EQ(again({{"key", "exchange-1"}}, "exchange-1").json().at("run"), run);
  EXPECT_EQ(again({{"input", {{"n", 1}}}}, "exchange-1").status, 409) << "another input";
  const Reply differ = again({{"key", "exchange-2"}}, "exchange-1");
  EXPECT_EQ(differ.status, 400);
  EXPECT_NE(differ.body.find("Expected one key of the run, but found"), std::string::npos) << differ.body;
  EXPECT_EQ(again({{"runs", {Json::object()}}}, "exchange-1").status, 400);
  for (const char* header : {"\xff", "", "\"\""}) EXPECT_EQ(again(Json::object(), header).status, 400) << header;
  EXPECT_EQ(again(Json::object(), std::string(1'001, 'x')).status, 400);
}

TEST(ApiExchange, an_idempotency_key_is_the_id_of_a_signal_and_refused_where_each_request_counts) {
  const Server server;
  const std::string path = runs + "/" + start_one(server);
  const Headers key = {{"Idempotency-Key", "\"scan-5\""}};
  const Json signal = {{"name", "exchanged"}, {"value", 1}};
  EXPECT_EQ(server.post(path + "/signals", signal, key).json()["id"], "scan-5");
  EXPECT_EQ(server.post(path + "/signals", signal, key).status, 409) << "it is there";
  EXPECT_EQ(server.post(path + "/signals", signal, {{"Idempotency-Key", ""}}).status, 400);
  const Reply differ = server.post(path + "/signals", {{"name", "exchanged"}, {"value", 1}, {"id", "scan-6"}}, key);
  EXPECT_EQ(differ.status, 400) << differ.body;
  for (const auto& [target, body] : std::vector<std::pair<std::string, Json>>{
           {path + "/fork", {{"at", 1}}},
           {path + "/reset", {{"to", "1"}}},
           {path + "/retry", Json::object()},
           {path + "/links", {{"question", 1}}},
           {"/api/v1/bulk", {{"command", "retry"}, {"where", {{"status", "failed"}}}}},
           {"/api/v1/schedules/daily/trigger", Json::object()}}) {
    const Reply refused = server.post(target, body, key);
    EXPECT_EQ(refused.status, 400) << target;
    EXPECT_NE(refused.body.find("Expected no Idempotency-Key, but found one: each request counts here."),
              std::string::npos)
        << refused.body;
  }
  EXPECT_EQ(server.post(path + "/cancel", Json::object(), key).status, 200) << "a second one changes nothing";
}

TEST(ApiExchange, a_large_answer_is_compressed_for_a_client_that_accepts_it_and_no_stream_is) {
  const Server server;
  const std::string large = "/api/v1/openapi.json";
  const Reply plain = server.get(large);
  EXPECT_EQ(plain.header("Content-Encoding"), "");
  EXPECT_EQ(plain.header("Vary"), "Accept-Encoding");
  for (const char* accepted : {"gzip", "br, GZIP;q=0.5", "*"}) {
    const Reply packed = server.get(large, {{"Accept-Encoding", accepted}});
    EXPECT_EQ(packed.header("Content-Encoding"), "gzip") << accepted;
    EXPECT_LT(packed.body.size(), plain.body.size() / 5);
    EXPECT_EQ(gunzipped(packed.body), plain.body);
    EXPECT_EQ(packed.header("ETag"), "W/" + plain.header("ETag"));
    EXPECT_EQ(server.get(large, {{"If-None-Match", packed.header("ETag")}}).status, 304);
  }
  for (const char* refused : {"br", "gzip;q=0", "gzip; q=0.000, br", ""})
    EXPECT_EQ(server.get(large, {{"Accept-Encoding", refused}}).header("Content-Encoding"), "") << refused;
  const Headers gzip = {{"Accept-Encoding", "gzip"}};
  EXPECT_EQ(server.get("/api/v1/queues", gzip).header("Content-Encoding"), "") << "it is small";
  const std::string events = runs + "/" + start_one(server) + "/events";
  Headers streamed = gzip;
  streamed.emplace_back("Accept", "text/event-stream");
  EXPECT_EQ(ApiConnection(server.port()).ask("HEAD", events, "", streamed).header("Content-Encoding"), "");
  EXPECT_EQ(ApiConnection(server.port()).ask("HEAD", large, "", gzip).header("Content-Encoding"), "gzip");
}

}  // namespace
}  // namespace cairn::program
