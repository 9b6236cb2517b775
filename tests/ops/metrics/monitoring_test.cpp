// Monitoring as an operator has it: a real Prometheus scrapes a server and a worker, the board's queries have data, and
// the guide names every metric.
#include <cmath>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/ops/api_client.hpp"
#include "tests/ops/free_port.hpp"
#include "tests/ops/metrics/prometheus.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

std::string replaced_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// --- a world with something to see -----------------------------------------------------------------------------------

// Asks a model and calls a tool.
Json model_graph() {
  return {
      {"name", "monitored"},
      {"start", "chat"},
      {"limits", {{"steps", 9}}},
      {"nodes",
       {{"chat", {{"do", "model.chat"}, {"with", {{"prompt", "Why?"}, {"into", "said"}}}, {"on", {{"ok", "look"}}}}},
        {"look",
         {{"do", "tool.call"}, {"with", {{"tool", "echo"}, {"inputs", Json::object()}}}, {"on", {{"ok", "end"}}}}},
        {"end", {{"end", "done"}}}}}};
}

// Its job stays in a queue.
const Json resting_graph = {
    {"name", "resting"},
    {"start", "rest"},
    {"limits", {{"steps", 9}}},
    {"nodes", {{"rest", {{"wait", {{"ms", 3'600'000}}}, {"on", {{"fired", "end"}}}}}, {"end", {{"end", "done"}}}}}};

const std::string failing_plan =
    R"({"goal": "g", "sub_goals": [{"id": "a", "tool": "echo"}, {"id": "b", "tool": "fail", "inputs": {"message": "no"}}]})";

// A server and a worker on a database of their own, and the main job.
class Watched {
 public:
  Watched()
      : dsn_(new_database()),
        server_({"--dsn", dsn_, "--probe-listen", "127.0.0.1:0"}),
        worker_(scripted_worker(dsn_)) {
    EXPECT_TRUE(wait_until([this] { return worker_.out().ends_with('\n'); })) << worker_.err();
    cairn_ok({"graph", "add", "--dsn", dsn_, write_file("monitored.json", model_graph().dump())});
    cairn_ok({"graph", "add", "--dsn", dsn_, write_file("resting.json", resting_graph.dump())});
    cairn_ok({"start", "resting", "--dsn", dsn_, "--no-work"});
    cairn_ok({"feed", "add", "watcher", "--dsn", dsn_});
    cairn_ok({"queue", "set", "default", "--budget", "tokens=1000000/month", "--dsn", dsn_});
    cairn_ok({"hook", "add", "never", "--url", "http://127.0.0.1:9/", "--private", "--on", "stalled", "--stalled-after",
              "1d", "--dsn", dsn_});
  }

  void run_jobs() {
    cairn_ok({"start", "monitored", "--dsn", dsn_, "--wait", "--no-work"});
    EXPECT_EQ(server_.get(runs).status, 200);
    EXPECT_EQ(cairn({"start", "plan_runner", "--dsn", dsn_, "--wait", "--no-work", "--input", failing_plan}).exit, 1);
  }

  std::string server_address() const { return Json::parse(server_.process().out()).at("probes"); }
  std::string worker_address() const { return Json::parse(worker_.out()).at("metrics"); }
  static std::string text_at(const std::string& address) {
    return run_program("/usr/bin/curl", {"-s", "--max-time", "10", "http://" + address + "/metrics"}).out;
  }
  Beside& worker() { return worker_; }

 private:
  static Beside scripted_worker(const std::string& dsn) {
    Json replies = Json::array();
    for (int n = 0; n < 500; ++n) replies.push_back({{"node", "chat"}, {"value", "So."}});
    const Json script = {{"replies", std::move(replies)}};
    const Variable variable("CAIRN_MODEL_SCRIPT", write_file("monitored.script.json", script.dump()).string());
    return Beside({"work", "--dsn", dsn, "--json", "--metrics", "127.0.0.1:0"});
  }

  std::string dsn_;
  Server server_;
  Beside worker_;
};

// --- Prometheus -----------------------------------------------------------------------------------------------------

std::map<std::string, std::string> queries_of_board() {
  std::map<std::string, std::string> queries;
  const Json board = Json::parse(monitoring_file("board.json"));
  for (const Json& panel : board.at("panels"))
    for (const Json& target : panel.at("targets"))
      queries[panel.at("title").get<std::string>() + " " + target.at("refId").get<std::string>()] =
          replaced_all(target.at("expr"), "$__rate_interval", "20s");
  return queries;
}

bool has_data(Prometheus& prometheus, const std::string& expression) {
  const auto values = prometheus.values(expression);
  return values && std::any_of(values->begin(), values->end(), [](double value) { return std::isfinite(value); });
}

// How many rules Prometheus has found well, ill, or not tried yet.
using RulesByHealth = std::map<std::string, int>;
RulesByHealth rules_by_health(Prometheus& prometheus) {
  RulesByHealth found;
  const Json rules = prometheus.get("rules");
  if (rules.is_null()) return found;
  for (const Json& group : rules.at("groups"))
    for (const Json& rule : group.at("rules")) ++found[rule.at("health")];
  return found;
}

TEST(Monitoring, a_prometheus_scrapes_server_and_worker_and_every_query_of_the_board_has_data) {
  Watched watched;
  Prometheus prometheus({{"cairn-serve", watched.server_address()}, {"cairn-work", watched.worker_address()}});
  ASSERT_TRUE(wait_until([&] { return prometheus.scrapes_all(); })) << prometheus.get("targets");
  std::map<std::string, std::string> waiting = queries_of_board();
  EXPECT_GE(waiting.size(), 30u);
  EXPECT_TRUE(wait_until(
      [&] {
        watched.run_jobs();
        std::erase_if(waiting, [&](const auto& query) { return has_data(prometheus, query.second); });
        return waiting.empty();
      },
      std::chrono::seconds(90)))
      << Json(waiting).dump(2);
  EXPECT_TRUE(wait_until([&] {
    return rules_by_health(prometheus) == RulesByHealth{{"ok", alerts_written()}};
  })) << prometheus.get("rules").dump(2);
  EXPECT_EQ(prometheus.get("alerts").dump().find("\"firing\""), std::string::npos) << prometheus.get("alerts").dump(2);
}

TEST(Monitoring, F22_the_numbers_that_prometheus_has_are_those_of_the_history) {
  Watched watched;
  Prometheus prometheus({{"cairn-serve", watched.server_address()}, {"cairn-work", watched.worker_address()}});
  watched.run_jobs();
  watched.run_jobs();
  const auto is = [&](const std::string& expression, double expected) {
    const bool found = wait_until([&] {
      const auto values = prometheus.values(expression);
      return values && values->size() == 1 && values->front() == expected;
    });
    EXPECT_TRUE(found) << expression << " is " << prometheus.get("query", expression).dump();
  };
  is(R"(sum(cairn_steps_total{graph="monitored",node="chat",outcome="succeeded"}))", 2);
  is(R"(sum(cairn_steps_total{graph="plan_runner",node="run",outcome="retried"}))", 4);  // three attempts each
  is(R"(sum(cairn_runs_ended_total{graph="plan_runner",status="failed"}))", 2);
  is(R"(sum(cairn_sub_goals_total{graph="plan_runner",status="succeeded"}))", 2);
  is(R"(sum(cairn_model_calls_total{ok="true"}))", 2);
  is(R"(sum(cairn_tool_calls_total{tool="echo",ok="true"}))", 4);
  is(R"(max(cairn_runs{status="done"}))", 2);
  is(R"(max(cairn_runs{status="failed"}))", 2);
  is("sum(cairn_worker_holds)", 0);
}

// Steps by graph, node and outcome are counted by workers, and those of `up` answered nowhere.
TEST(Monitoring, each_worker_of_up_answers_at_an_address_of_its_own) {
  const std::string dsn = new_database();
  const std::string taken = "127.0.0.1:" + free_port();
  Beside other({"work", "--dsn", dsn, "--queue", "nothing", "--metrics", taken});
  ASSERT_TRUE(wait_until([&] { return other.out().find("/metrics") != std::string::npos; })) << other.err();
  Beside up({"up", "--dsn", dsn, "--json", "--workers", "2", "--metrics", taken});
  ASSERT_TRUE(wait_until([&] { return up.out().find('\n') != std::string::npos; })) << up.err();
  const std::string said = up.out();
  const auto addresses = Json::parse(said.substr(0, said.find('\n'))).at("metrics").get<std::set<std::string>>();
  EXPECT_EQ(addresses.size(), 2u);
  EXPECT_FALSE(addresses.contains(taken));
  cairn({"start", "plan_runner", "--dsn", dsn, "--wait", "--no-work", "--input", failing_plan});
  std::string texts;
  for (const std::string& address : addresses) texts += Watched::text_at(address);
  EXPECT_NE(texts.find("cairn_sub_goals_total{graph=\"plan_runner\",status=\"failed\"} 1"), std::string::npos) << texts;
  EXPECT_NE(texts.find("cairn_steps_total{graph=\"plan_runner\",node="), std::string::npos) << texts;
  expect_refused(cairn({"up", "--dsn", dsn, "--metrics", "192.0.2.1:9000"}), 5, "192.0.2.1:9000");
  up.signal(SIGTERM);
  EXPECT_EQ(up.wait(), 0) << up.err();
}

// --- promtool -------------------------------------------------------------------------------------------------------

TEST(Monitoring, promtool_finds_nothing_to_say_of_the_metrics) {
  Watched watched;
  watched.run_jobs();
  for (const std::string& address : {watched.server_address(), watched.worker_address()}) {
    const std::string text = Watched::text_at(address);
    ASSERT_NE(text.find("cairn_steps_total"), std::string::npos) << text;
    const Ran ran = run_program(monitoring_program("promtool"), {"check", "metrics"}, text);
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
    EXPECT_EQ(ran.out + ran.err, "");
  }
}

// --- the guide -------------------------------------------------------------------------------------------------------

struct Metric {
  std::string type;
  std::set<std::string> labels;
  bool operator==(const Metric&) const = default;
};
using Metrics = std::map<std::string, Metric>;

std::string shown(const Metrics& metrics) {
  std::string text;
  for (const auto& [name, metric] : metrics) {
    text += name + " " + metric.type;
    for (const std::string& label : metric.labels) text += " " + label;
    text += "\n";
  }
  return text;
}

// A sample belongs to the description before it.
void add_metrics(const std::string& text, Metrics& to) {
  static const std::regex type("# TYPE (\\S+) (\\S+)");
  static const std::regex label("([a-z]+)=\"");
  std::istringstream in(text);
  std::string name;
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_match(line, match, type)) {
      name = match[1];
      to[name].type = match[2];
    }
    if (line.starts_with('#')) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), label), end; at != end; ++at)
      if ((*at)[1] != "le") to[name].labels.insert((*at)[1]);
  }
}

// Rows of the form | `name` | type | `label` `label` | ...
Metrics metrics_of_guide() {
  static const std::regex row("\\| `((?:cairn|process)_\\w+)` \\| (\\w+) \\|([^|]*)\\|.*");
  static const std::regex label("`(\\w+)`");
  Metrics metrics;
  std::istringstream in(read_file(testing::source_dir() + "/ops/guide/monitoring.md"));
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, row)) continue;
    const std::string labels = match[3];
    Metric& metric = metrics[match[1]];
    metric.type = match[2];
    for (std::sregex_iterator at(labels.begin(), labels.end(), label), end; at != end; ++at)
      metric.labels.insert((*at)[1]);
  }
  return metrics;
}

TEST(Monitoring, the_guide_has_every_metric_with_its_type_and_labels) {
  Watched watched;
  watched.run_jobs();
  Metrics metrics;
  EXPECT_TRUE(wait_until([&] {
    add_metrics(Watched::text_at(watched.server_address()), metrics);
    add_metrics(Watched::text_at(watched.worker_address()), metrics);
    return metrics["cairn_feed_behind"].labels.size() == 1 && metrics["cairn_jobs"].labels.size() == 2 &&
           metrics["cairn_hook_notices"].labels.size() == 2;
  }));
  EXPECT_EQ(shown(metrics), shown(metrics_of_guide()));
}

// It answered 503, so that what the process counts of the database's failures was never seen, and no alert said more
// than that a process is down.
TEST(Monitoring, a_server_whose_database_is_away_says_what_it_has_counted_itself) {
  const std::string data = (directory() / "scraped_data").string();
  const Server server({"--data", data});
  const auto metrics = [&server] { return server.get("/metrics"); };
  const std::string before = metrics().body;
  for (const char* name : {"\ncairn_runs{", "\ncairn_sessions{", "\ncairn_database_bytes ", "\ncairn_data_free_bytes ",
                           "\ncairn_jobs_counted_seconds "})
    EXPECT_NE(before.find(name), std::string::npos) << name << before;
  cairn_ok({"down", "--data", data});
  ASSERT_TRUE(
      wait_until([&] { return metrics().body.find("cairn_runs{") == std::string::npos; }, std::chrono::seconds(60)));
  const Reply away = metrics();
  EXPECT_EQ(away.status, 200) << away.body;
  EXPECT_NE(away.body.find("\nprocess_open_fds "), std::string::npos) << away.body;
  EXPECT_NE(away.body.find("\ncairn_data_free_bytes "), std::string::npos) << "a full disk may have stopped it";
  static const std::regex failed("\ncairn_database_faults_total\\{call=\"other\"\\} [1-9]");
  EXPECT_TRUE(std::regex_search(away.body, failed)) << away.body;
}

TEST(Monitoring, the_gauges_of_the_database_have_labels_for_a_hundred_names_and_other_for_the_rest) {
  const Server server({"--dsn", new_database()});
  const Json budget = {{"unit", "tokens"}, {"cap", 100}, {"per", "month"}};
  const Json limits = {{"budgets", Json::array({budget})}};
  for (int n = 1'000; n <= 1'100; ++n) {
    const std::string name = "n" + std::to_string(n);
    EXPECT_EQ(server.post("/api/v1/queues/" + name, limits).status, 200);
    EXPECT_EQ(server.post("/api/v1/consumers", {{"name", name}, {"from", "now"}}).status, 201);
  }
  const std::string text = server.get("/metrics").body;
  static const std::regex sample("\ncairn_(budget_used_ratio|feed_behind)\\{[^}]*(?:queue|consumer)=\"([^\"]+)\"");
  std::map<std::string, std::set<std::string>> names;
  for (std::sregex_iterator at(text.begin(), text.end(), sample), end; at != end; ++at)
    names[at->str(1)].insert(at->str(2));
  for (const char* metric : {"budget_used_ratio", "feed_behind"}) {
    EXPECT_EQ(names[metric].size(), 101u) << metric;
    EXPECT_TRUE(names[metric].contains("other")) << metric;
    EXPECT_FALSE(names[metric].contains("n1100")) << metric;
  }
}

// --- requests --------------------------------------------------------------------------------------------------------

TEST(Monitoring, requests_are_counted_by_method_route_and_class_of_their_status) {
  const Server server({"--dsn", new_database()});
  EXPECT_EQ(server.get(runs).status, 200);
  for (const char* id : {"01a20a3b-a4b8-7028-b8f9-1aa1bdc43430", "none"})
    EXPECT_EQ(server.get(runs + "/" + id).status / 100, 4);
  EXPECT_EQ(server.get("/nowhere").status, 404);
  EXPECT_EQ(server.get("/healthz").status, 200);
  const Json handler = {{"name", "py.count"}};
  const Json waits = {{"worker", "w"}, {"queues", {"default"}}, {"handlers", Json::array({handler})}, {"wait_ms", 1}};
  EXPECT_EQ(server.post("/api/v1/claims", waits).status, 200);
  const std::string text = server.get("/metrics").body;
  for (const char* sample : {R"(cairn_http_requests_total{method="GET",route="/api/v1/runs",status="2xx"} 1)",
                             R"(cairn_http_requests_total{method="GET",route="/api/v1/runs/{run}",status="4xx"} 2)",
                             R"(cairn_http_requests_total{method="none",route="none",status="4xx"} 1)",
                             R"(cairn_http_requests_total{method="POST",route="/api/v1/claims",status="2xx"} 1)",
                             R"(cairn_http_request_seconds_count{method="GET",route="/api/v1/runs"} 1)"})
    EXPECT_NE(text.find(sample), std::string::npos) << sample << "\n" << text;
  EXPECT_EQ(text.find("healthz"), std::string::npos);
}

// --- the worker's address --------------------------------------------------------------------------------------------

TEST(Monitoring, a_worker_answers_its_watchers_alone_and_drains_as_without_them) {
  Watched watched;
  const std::string base = "http://" + watched.worker_address();
  const auto status = [&](const std::string& path, const std::string& method = "GET") {
    return run_program("/usr/bin/curl", {"-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", method, base + path}).out;
  };
  EXPECT_EQ(status("/metrics"), "200");
  EXPECT_EQ(status("/healthz"), "200");
  EXPECT_EQ(status("/api/v1/runs"), "404");
  EXPECT_EQ(status("/"), "404");
  EXPECT_EQ(status("/metrics", "POST"), "405");
  watched.worker().signal(SIGTERM);
  EXPECT_EQ(watched.worker().wait(), 0);
  expect_refused(cairn({"work", "--metrics", "nowhere"}), 2, "nowhere");
  expect_refused(cairn({"work", "--metrics", "203.0.113.1:1"}), 5, "203.0.113.1:1");
}

}  // namespace
}  // namespace cairn::program
