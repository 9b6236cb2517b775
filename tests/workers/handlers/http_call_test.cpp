// The handler http.call: which answers are outcomes, which attempts fail, what is on record, and who executes it.
#include "workers/handlers/http_call.hpp"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "engine/graph_parsing.hpp"
#include "engine/graph_review.hpp"
#include "engine/run_json.hpp"
#include "storage/chain.hpp"
#include "storage/memory/memory_store.hpp"
#include "tests/workers/ports/loopback.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/handlers/builtin_handlers.hpp"
#include "workers/models/models.hpp"
#include "workers/ports/tools.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

using testing::LoopbackServer;
using Reply = LoopbackServer::Reply;

// Tools with one answer to every call.
class SaidTools final : public Tools {
 public:
  explicit SaidTools(ToolAnswer answer) : answer_(std::move(answer)) {}
  boost::asio::awaitable<ToolAnswer> call(ToolCall) override { co_return answer_; }
  boost::asio::awaitable<ToolAnswer> call_http(ToolCall call) override {
    calls.push_back(call);
    co_return answer_;
  }
  const ToolTable& table() const override { return table_; }
  std::vector<ToolCall> calls;

 private:
  ToolAnswer answer_;
  ToolTable table_;
};

StepResult called(Json with, ToolAnswer answer) {
  SaidTools tools(std::move(answer));
  const auto model = make_rule_model("rules", [](const ModelRequest&) { return ModelAnswer(); });
  Ports ports(*model, tools);
  StepInput input;
  input.node = "fetch";
  input.key = "run/7";
  input.with = std::move(with);
  const Handler handler = http_call_handler(true);
  StepResult result = testing::run(std::get<EffectHandler>(handler.run)(input, ports));
  const std::vector<Fact>& facts = result ? result->facts : result.error().facts;
  EXPECT_EQ(facts.size(), tools.calls.size());
  for (const ToolCall& call : tools.calls) EXPECT_EQ(call.key, "run/7");
  return result;
}

Json with_url(Json more = Json::object()) {
  more["url"] = "https://api.example/v1/secret-path";
  return more;
}

TEST(HttpCall, F8_an_answer_goes_to_the_channel) {
  const StepResult result = called(with_url(), Json::parse(R"({"status": 201, "body": {"n": 5}})"));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->label, "ok");
  EXPECT_EQ(result->patch, Json::parse(R"({"response": {"status": 201, "body": {"n": 5}}})"));
  const Json fact = Json::parse(std::get<Record>(result->facts.at(0)).fields);
  EXPECT_EQ(fact["tool"], "http.call");
  EXPECT_EQ(fact["ok"], true);
  EXPECT_TRUE(called(with_url({{"into", "page"}}), Json{{"body", "x"}})->patch.contains("page"));
}

TEST(HttpCall, a_status_that_is_not_wanted_fails_and_says_whether_it_may_pass) {
  struct Row {
    int status;
    bool retryable;
  };
  for (const Row& row : {Row{400, false}, Row{401, false}, Row{404, false}, Row{408, true}, Row{429, true},
                         Row{500, true}, Row{503, true}, Row{302, false}}) {
    const StepResult result = called(with_url(), Json{{"status", row.status}, {"body", "no\nluck"}});
    ASSERT_FALSE(result.ok()) << row.status;
    EXPECT_EQ(result.error().error, "http_" + std::to_string(row.status));
    EXPECT_EQ(result.error().retryable, row.retryable) << row.status;
    EXPECT_NE(result.error().message.find("no luck"), std::string::npos) << result.error().message;
    EXPECT_EQ(result.error().message.find("secret-path"), std::string::npos) << result.error().message;
    EXPECT_EQ(Json::parse(std::get<Record>(result.error().facts.at(0)).fields)["ok"], false);
  }
  EXPECT_NE(called(with_url(), Json{{"status", 302}}).error().message.find("redirects are not followed"),
            std::string::npos);
}

TEST(HttpCall, the_graph_says_which_statuses_are_wanted) {
  const Json ok = Json::parse(R"({"ok": ["2xx", 404]})");
  EXPECT_EQ(called(with_url(ok), Json{{"status", 404}})->patch["response"]["status"], 404);
  EXPECT_TRUE(called(with_url(ok), Json{{"status", 204}}).ok());
  EXPECT_FALSE(called(with_url(ok), Json{{"status", 405}}).ok());
  EXPECT_FALSE(called(with_url({{"ok", {201}}}), Json{{"status", 200}}).ok());
}

TEST(HttpCall, the_pause_that_the_server_asks_for_comes_along_up_to_an_hour) {
  const auto pause = [](std::int64_t ms) {
    return called(with_url(), Json{{"status", 503}, {"retry_after_ms", ms}}).error().pause_ms;
  };
  EXPECT_EQ(pause(3'000), 3'000);
  EXPECT_EQ(pause(-1), 0);
  EXPECT_EQ(pause(99'999'999'999), pause_ms_max);
  EXPECT_EQ(called(with_url(), Json{{"status", 200}, {"retry_after_ms", 5}})->patch["response"],
            (Json{{"status", 200}}));
}

TEST(HttpCall, another_body_than_was_asked_for_is_bad_output) {
  const StepResult result =
      called(with_url(), Json{{"status", 200}, {"body", "<p>"}, {"fault", "The body is no JSON."}});
  EXPECT_EQ(result.error().error, "bad_output");
  EXPECT_FALSE(result.error().retryable);
}

TEST(HttpCall, faulty_settings_fail_without_a_call) {
  const StepResult result = called(with_url({{"method", "TRACE"}}), Json::object());
  EXPECT_EQ(result.error().error, "invalid");
  EXPECT_NE(result.error().message.find("\"method\""), std::string::npos) << result.error().message;
  EXPECT_EQ(called(Json::object(), Json::object()).error().error, "invalid");
}

// --- the check of graphs --------------------------------------------------------------------------------------------

std::vector<std::string> faults_of(const char* with) {
  Json graph = Json::parse(R"({"name": "g", "start": "fetch", "limits": {"steps": 5}, "nodes": {
    "fetch": {"do": "http.call", "on": {"ok": "over"}}, "over": {"end": {"status": "done", "output": "$response"}}}})");
  graph["nodes"]["fetch"]["with"] = Json::parse(with);
  HandlerTable table;
  add_builtin_handlers(table);
  Surroundings around;
  around.handlers = table.labels();
  return review_graph(graph, around).faults;
}

TEST(HttpCall, the_check_of_a_graph_knows_each_setting_and_its_form) {
  EXPECT_TRUE(faults_of(R"({"url": "https://h/{{a}}", "method": "$m", "query": {"q": "$q"}, "headers": {"x": "$x"},
    "auth": {"bearer": "TOKEN"}, "ok": [200, "3xx"], "keep": ["etag"], "as": "json", "timeout_ms": 5, "max_bytes": 5})")
                  .empty());
  for (const char* with :
       {"{}", R"({"url": "ftp://h"})", R"({"url": 5})", R"({"url": "https://h", "methd": "GET"})",
        R"({"url": "https://h", "method": "FETCH"})", R"({"url": "https://h", "query": 5})",
        R"({"url": "https://h", "headers": {"Host": "x"}})", R"({"url": "https://h", "body": 1})",
        R"({"url": "https://h", "method": "POST", "body": 1, "form": {}})",
        R"({"url": "https://h", "method": "POST", "form": "a=b"})", R"({"url": "https://h", "auth": "TOKEN"})",
        R"({"url": "https://h", "auth": {"bearer": "$token"}})",
        R"({"url": "https://h", "auth": {"bearer": "{{token}}"}})", R"({"url": "https://h", "ok": 200})",
        R"({"url": "https://h", "keep": "etag"})", R"({"url": "https://h", "as": "xml"})",
        R"({"url": "https://h", "timeout_ms": "5"})", R"({"url": "https://h", "max_bytes": 0})",
        R"({"url": "https://h", "into": 5})"})
    EXPECT_EQ(faults_of(with).size(), 1u) << with << (faults_of(with).empty() ? "" : faults_of(with)[0]);
}

// --- who executes it ------------------------------------------------------------------------------------------------

TEST(HttpCall, only_a_worker_with_urls_says_that_it_has_it) {
  const auto has = [](const std::string& file) {
    CatalogueOptions options;
    options.tools_file = file;
    const auto catalogue = make_catalogue(options);
    if (!catalogue) ADD_FAILURE() << catalogue.error().message;
    const std::vector<std::string> here = (*catalogue)->handlers.here();
    EXPECT_NE((*catalogue)->handlers.find("http.call"), nullptr) << "the check of graphs knows it";
    return std::find(here.begin(), here.end(), "http.call") != here.end();
  };
  const testing::TemporaryFolder folder;
  EXPECT_FALSE(has(""));
  EXPECT_FALSE(has(folder.write("a.json", R"({"tools": {}})")));
  EXPECT_TRUE(has(folder.write("b.json", R"({"tools": {}, "builtin": {"urls": ["https://api.example"]}})")));
}

TEST(HttpCall, a_worker_whose_secret_is_missing_does_not_start) {
  const testing::TemporaryFolder folder;
  CatalogueOptions options;
  options.tools_file = folder.write("a.json", R"({"tools": {}, "secrets": {"KEY": {"env": "HTTP_CALL_NO_SUCH"}}})");
  const auto catalogue = make_catalogue(options);
  ASSERT_TRUE(catalogue.ok()) << "graphs can be checked, and runs looked at";
  ASSERT_FALSE((*catalogue)->secrets.ok());
  EXPECT_EQ((*catalogue)->secrets.error().message,
            "Expected secret \"KEY\" in the variable HTTP_CALL_NO_SUCH, but there is no such variable.");
}

// --- a run ----------------------------------------------------------------------------------------------------------

// One run of a graph on a memory store, executed by a worker with a tools file.
class ApiRun {
 public:
  ApiRun(const Json& tools_file, const Json& graph) : store_(make_memory_store(1, {})) {
    CatalogueOptions options;
    options.tools_file = folder_.write("tools.json", tools_file.dump());
    Result<std::unique_ptr<Catalogue>> made = make_catalogue(options);
    if (!made) throw std::runtime_error(made.error().message);
    catalogue_ = *std::move(made);
    catalogue_->graphs.push_back(stored_graph(graph, graph_version(canonical(graph))));
    client_ = std::make_unique<Client>(*store_, *catalogue_, "test");
    client_->load_graphs();
    StartRun start;
    start.graph = graph["name"];
    start.input = Json::object();
    run_ = client_->start(std::move(start), "")->run;
  }

  void work(std::chrono::milliseconds time = std::chrono::seconds(30)) {
    const auto limit = std::chrono::steady_clock::now() + time;
    WorkerOptions options;
    options.until = [&] { return std::chrono::steady_clock::now() > limit || is_ended(store_->run(run_)->status); };
    Worker(*store_, *catalogue_, options).run();
  }

  std::vector<Json> events() {
    std::vector<Json> all;
    const Result<std::vector<Event>> read = client_->events(run_, 0, 1'000);
    for (const Event& event : *read) all.push_back(event_json(run_, event));
    return all;
  }

 private:
  testing::TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
  RunId run_;
};

Json of_type(const std::vector<Json>& events, const std::string& type) {
  Json found = Json::array();
  for (const Json& event : events)
    if (event["type"] == type) found.push_back(event);
  return found;
}

TEST(HttpCall, no_event_of_a_run_holds_a_secret_that_the_server_echoes) {
  const LoopbackServer server([](const LoopbackServer::Request& request) {
    const bool is_first = request.target().starts_with("/first");
    return Reply{is_first ? 400U : 200U, std::string(request["authorization"]) + " " + std::string(request.target())};
  });
  ::setenv("HTTP_CALL_KEY", "a-very-s3cret-key", 1);
  Json graph = Json::parse(R"({"name": "calls", "start": "first", "limits": {"steps": 9}, "nodes": {
    "first": {"do": "http.call", "with": {"auth": {"bearer": "KEY"}}, "on": {"ok": "second", "error": "second"}},
    "second": {"do": "http.call", "with": {"auth": {"query": {"key": "KEY"}}}, "on": {"ok": "over"}},
    "over": {"end": "done"}}})");
  graph["nodes"]["first"]["with"]["url"] = server.url("/first");
  graph["nodes"]["second"]["with"]["url"] = server.url("/second");
  ApiRun run({{"tools", Json::object()},
              {"secrets", {{"KEY", {{"env", "HTTP_CALL_KEY"}}}}},
              {"builtin", {{"urls", {server.url("/")}}}}},
             graph);
  run.work();
  const std::string all = Json(run.events()).dump();
  EXPECT_EQ(server.requests().size(), 2u) << all;
  EXPECT_NE(all.find("Bearer ***"), std::string::npos) << all;
  EXPECT_NE(all.find("key=***"), std::string::npos) << all;
  EXPECT_EQ(all.find("s3cret"), std::string::npos) << all;
  ::unsetenv("HTTP_CALL_KEY");
}

Json retried(const std::string& url) {
  Json graph = Json::parse(R"({"name": "retried", "start": "send", "limits": {"steps": 9}, "nodes": {
    "send": {"do": "http.call", "with": {"method": "POST", "body": {}}, "retry": {"attempts": 3}, "on": {"ok": "over"}},
    "over": {"end": "done"}}})");
  graph["nodes"]["send"]["with"]["url"] = url;
  return graph;
}

TEST(HttpCall, the_next_attempt_comes_no_earlier_than_the_server_says_and_with_the_same_key) {
  const LoopbackServer server([n = 0](const LoopbackServer::Request&) mutable {
    Reply reply{n++ == 0 ? 429U : 200U, "x"};
    if (reply.status == 429) reply.retry_after = "1";
    return reply;
  });
  ApiRun run({{"tools", Json::object()}, {"builtin", {{"urls", {server.url("/")}}}}}, retried(server.url("/x")));
  const auto began = std::chrono::steady_clock::now();
  run.work();
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1'000));
  const auto seen = server.requests();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0]["idempotency-key"], seen[1]["idempotency-key"]);
  const Json failed = of_type(run.events(), "step_failed");
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_NE(failed.dump().find("http_429"), std::string::npos) << failed;
  EXPECT_EQ(of_type(run.events(), "tool_called").size(), 2u);
}

TEST(HttpCall, a_worker_without_urls_leaves_the_step_to_others) {
  ApiRun run({{"tools", Json::object()}}, retried("http://127.0.0.1:1/x"));
  run.work(std::chrono::milliseconds(300));
  EXPECT_TRUE(of_type(run.events(), "step_failed").empty());
  EXPECT_TRUE(of_type(run.events(), "run_finished").empty());
}

}  // namespace
}  // namespace cairn
