// The main job on a real history: three modules of a shop system, with the rule book in the model's place.
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <sstream>

#include "tests/ops/api_client.hpp"
#include "tests/ops/planners/planner_runs.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {
namespace {

std::string numstat() { return testing::source_dir() + "/tests/samples/gitlog/medusa-numstat.tsv"; }

// Module -> owner, from the table that belongs to the data.
std::map<std::string, std::string> expected_owners() {
  std::map<std::string, std::string> owners;
  std::istringstream text(read_file(testing::source_dir() + "/tests/samples/gitlog/EXPECTED.tsv"));
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line)) {
    std::istringstream row(line);
    std::string directory, commits, authors, owner;
    std::getline(row, directory, '\t') && std::getline(row, commits, '\t') && std::getline(row, authors, '\t') &&
        std::getline(row, owner, '\t');
    owners[directory.substr(directory.rfind('/') + 1)] = owner;
  }
  return owners;
}

Json ask(const std::string& question, const Arguments& more = {}) {
  const Json input = {{"repository", numstat()}, {"question", question}};
  Arguments arguments = {"start", "seven_node", "--input", input.dump(), "--wait", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return cairn_ok(arguments).json();
}

std::vector<Json> events_of_ended(const Json& ended) { return cairn_ok({"events", ended["run"], "--json"}).lines(); }

int count_of(const std::vector<Json>& events, const std::string& type) {
  return static_cast<int>(
      std::count_if(events.begin(), events.end(), [&](const Json& e) { return e["type"] == type; }));
}

bool visits(const std::vector<Json>& events, const std::string& node) {
  return std::any_of(events.begin(), events.end(), [&](const Json& e) { return e.value("node", "") == node; });
}

TEST(SevenNode, two_owners_are_found_side_by_side_and_are_right) {
  const Json ended = ask("Who owns pricing AND tax?");
  EXPECT_EQ(ended["status"], "done");
  const std::string answer = ended["output"]["answer"];
  const std::map<std::string, std::string> owners = expected_owners();
  EXPECT_NE(answer.find(owners.at("pricing")), std::string::npos) << answer;
  EXPECT_NE(answer.find("pricing"), std::string::npos) << answer;
  EXPECT_NE(answer.find("tax"), std::string::npos) << answer;
  const std::vector<Json> events = events_of_ended(ended);
  EXPECT_EQ(count_of(events, "sub_goal_opened"), 2);
  EXPECT_EQ(count_of(events, "sub_goal_closed"), 2);
  EXPECT_EQ(ended["output"]["iterations"], 1);
}

TEST(SevenNode, each_module_has_its_owner) {
  for (const auto& [module, owner] : expected_owners()) {
    const Json ended = ask("Who owns " + module + "?");
    EXPECT_NE(ended["output"]["answer"].get<std::string>().find(owner), std::string::npos) << ended;
    EXPECT_EQ(count_of(events_of_ended(ended), "sub_goal_closed"), 1) << module;
  }
}

TEST(SevenNode, the_weather_is_blocked_after_one_model_call) {
  const Json ended = ask("What is the weather in Tokyo?");
  EXPECT_EQ(ended["status"], "done");
  EXPECT_EQ(ended["output"]["outcome"], "blocked");
  const std::vector<Json> events = events_of_ended(ended);
  EXPECT_EQ(count_of(events, "model_called"), 1);
  EXPECT_EQ(count_of(events, "guardrail_blocked"), 1);
  EXPECT_EQ(count_of(events, "sub_goal_opened"), 0);
  EXPECT_FALSE(visits(events, "intent_parser"));
}

TEST(SevenNode, an_ambiguous_word_is_asked_back_without_a_tool) {
  const Json ended = ask("pricing");
  EXPECT_EQ(ended["status"], "done");
  const std::string answer = ended["output"]["answer"];
  EXPECT_NE(answer.find('?'), std::string::npos) << answer;
  const std::vector<Json> events = events_of_ended(ended);
  EXPECT_EQ(count_of(events, "sub_goal_opened"), 0);
  EXPECT_FALSE(visits(events, "query_planner"));
}

TEST(SevenNode, the_next_message_knows_the_turns_before_it) {
  const Json first = ask("pricing");
  const Json second = ask("Who owns pricing?", {"--continues", first["run"]});
  const Json shown = cairn_ok({"show", second["run"], "--json"}).json();
  EXPECT_NE(shown["channels"]["history"].dump().find("pricing"), std::string::npos);
  EXPECT_EQ(cairn_ok({"runs", "--lineage", first["run"], "--json"}).lines().size(), 2u);
}

TEST(SevenNode, a_broken_tool_ends_in_an_apology_that_names_it) {
  const std::string script = write_file("broken.sh", "echo 'the index is gone' >&2\nexit 3\n");
  const Json tools = {{"tools", {{"owners", {{"exec", {"/bin/sh", script}}}}}}};
  const Json ended = ask("Who owns pricing?", {"--tools", write_file("broken_tools.json", tools.dump())});
  EXPECT_EQ(ended["status"], "done");
  const std::string answer = ended["output"]["answer"];
  EXPECT_NE(answer.find("owners"), std::string::npos) << answer;
  EXPECT_NE(answer.find("orry"), std::string::npos) << answer;
}

TEST(SevenNode, people_read_the_answer) {
  const Json input = {{"repository", numstat()}, {"question", "Who owns tax?"}};
  const Ran ran = cairn_ok({"start", "seven_node", "--input", input.dump(), "--wait"});
  EXPECT_NE(ran.out.find(expected_owners().at("tax")), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("done, "), std::string::npos) << ran.out;
}

// Twelve questions as people ask them: two off topic, one unclear, one of a module that is not there.
std::string twelve_questions() {
  std::string lines;
  for (const char* question :
       {"Who owns pricing?", "Who owns tax?", "Who owns pricing AND tax?", "What is the weather in Tokyo?",
        "What is the bus factor of pricing?", "What changed recently in tax?",
        "Which files are the hotspots of region?", "Which files change together in pricing?", "pricing",
        "Tell me a joke.", "Who owns nothing_like_this?", "Who owns region?"}) {
    lines += Json{{"repository", numstat()}, {"question", question}}.dump() + "\n";
  }
  return write_file("twelve.jsonl", lines);
}

TEST(SevenNode, S3_20_twelve_queries_are_reported_with_time_cost_calls_blocks_rounds_and_failures) {
  const Ran batch = cairn_ok({"batch", "seven_node", "--inputs", twelve_questions(), "--wait"});
  const std::string tag = batch.out.substr(batch.out.find("batch="));
  const Arguments arguments = {"report", "--tag", tag.substr(0, tag.find('\n')), "--graph", "seven_node"};
  Arguments as_json = arguments;
  as_json.emplace_back("--json");
  const Json report = cairn_ok(as_json).json();
  EXPECT_EQ(report["runs"], 12);
  EXPECT_EQ(report["ended"], 12);
  EXPECT_GT(report["avg_latency_ms"].get<double>(), 0);
  EXPECT_EQ(report["avg_cost"], 0.0);
  EXPECT_EQ(report["guardrail_blocks"], 2);
  // One call in a blocked run, three in an unclear one, five in the others.
  EXPECT_EQ(report["avg_model_calls"], (2 * 1 + 3 + 9 * 5) / 12.0);
  EXPECT_EQ(report["avg_tool_calls"], 10 / 12.0);
  EXPECT_EQ(report["budgets"]["iterations"]["over_1"], 0);
  EXPECT_EQ(report["failures"], 1);
  EXPECT_EQ(report["outcomes"], (Json{{"answered", 8}, {"blocked", 2}, {"clarification", 1}, {"failed", 1}}));
  const std::string table = cairn_ok(arguments).out;
  for (const char* row :
       {"avg latency", "avg cost", "avg model calls", "guardrail blocks", "iterations > 1", "failures"})
    EXPECT_NE(table.find(row), std::string::npos) << row << table;
  EXPECT_NE(table.find("2 of 12 (16.7 %)"), std::string::npos) << table;
}

// Another process answers the same from what the first one has kept.
TEST(SevenNode, N1_the_history_of_a_repository_is_kept_for_the_next_process) {
  const std::filesystem::path repository = directory() / "kept_repository";
  const std::string made = "git init -q -b main '" + repository.string() + "' && git -C '" + repository.string() +
                           "' -c user.name=Ann -c user.email=ann@example.org commit -q --no-gpg-sign --allow-empty -m "
                           "empty && echo 1 > '" +
                           repository.string() + "/a.c' && git -C '" + repository.string() + "' add -A && git -C '" +
                           repository.string() +
                           "' -c user.name=Ann -c user.email=ann@example.org commit -q --no-gpg-sign -m change";
  ASSERT_EQ(std::system(made.c_str()), 0);
  const EnvironmentVariable cache("CAIRN_CACHE", (directory() / "kept_cache").string());
  const Json input = {{"repository", repository}, {"question", "Who owns a.c?"}};
  const Arguments arguments = {"start", "seven_node", "--input", input.dump(), "--wait", "--json"};
  const Json first = cairn_ok(arguments).json();
  EXPECT_EQ(first["output"]["results"][0]["outputs"]["owner"], "Ann") << first;
  const std::filesystem::path folder = directory() / "kept_cache" / "histories";
  EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 1);
  EXPECT_EQ(cairn_ok(arguments).json()["output"]["results"], first["output"]["results"]);
}

// The nodes whose end a stream of a run's events has shown.
class NodesShown {
 public:
  NodesShown(std::uint16_t port, const std::string& run) : stream_(port, "/api/v1/runs/" + run + "/events") {}
  // Reads on until the node's end is shown, or the stream ends.
  void read_until(const std::string& node) {
    while (nodes.empty() || nodes.back() != node) {
      const std::optional<StreamedEvent> event = stream_.next();
      if (!event) return;
      if (event->data["type"] == "step_succeeded") nodes.push_back(event->data["node"]);
    }
  }
  std::vector<std::string> nodes;

 private:
  ApiStreamReader stream_;
};

Json as_reply(const Json& value) {
  return {{"model", "loopback"}, {"choices", {{{"message", {{"role", "assistant"}, {"content", value.dump()}}}}}}};
}

// The model answers each node only after the stream has shown the end of the node before it.
TEST(SevenNode, S3_19_a_client_sees_each_nodes_end_while_the_run_goes_on) {
  const Json call = {{"tool", "owners"}, {"inputs", {{"path", "pricing"}}}, {"why", "It is asked for."}};
  const std::vector<std::pair<std::string, Json>> replies = {
      {"orchestrator", {{"on_topic", true}, {"reason", "Code."}}},
      {"guardrail", {{"intent", "ownership"}, {"entities", {"pricing"}}, {"reason", "Clear."}}},
      {"intent_parser", {{"calls", {call}}}},
      {"tool_executor", {{"verdict", "complete"}, {"gap", ""}}},
      {"reflector", {{"answer", "Most commits to pricing are by dev-004, who owns it."}}}};
  Server server;
  std::mutex watch;  // guards what the model's thread and this one share
  std::unique_ptr<NodesShown> shown_nodes;
  std::vector<std::vector<std::string>> shown_when_asked;
  testing::LoopbackServer model([&](const testing::LoopbackServer::Request&) {
    const std::lock_guard lock(watch);
    const auto& [node_before, reply] = replies.at(std::min(shown_when_asked.size(), replies.size() - 1));
    shown_nodes->read_until(node_before);
    shown_when_asked.push_back(shown_nodes->nodes);
    return testing::LoopbackServer::Reply{200, as_reply(reply).dump()};
  });
  const EnvironmentVariable url("CAIRN_MODEL_URL", model.url("/v1"));
  const EnvironmentVariable name("CAIRN_MODEL", "loopback");
  const Json input = {{"repository", numstat()}, {"question", "Who owns pricing?"}};
  const std::string run = cairn_ok({"start", "seven_node", "--input", input.dump(), "--json"}).json()["run"];
  {
    const std::lock_guard lock(watch);
    shown_nodes = std::make_unique<NodesShown>(server.port(), run);
  }
  Beside worker({"work"});
  const bool is_done = wait_until([&] { return shown(run)["status"] == "done"; });
  if (!is_done) cairn({"cancel", run});  // ends the stream for the model, which may still wait for a node's end
  ASSERT_TRUE(is_done);
  const std::lock_guard lock(watch);
  shown_nodes->read_until("no such node");
  const std::vector<std::string> path = {"orchestrator",  "guardrail", "intent_parser",     "query_planner",
                                         "tool_executor", "reflector", "response_generator"};
  EXPECT_EQ(shown_nodes->nodes, path);
  ASSERT_EQ(shown_when_asked.size(), replies.size());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(shown_when_asked[i].back(), replies[i].first);
    EXPECT_TRUE(std::equal(shown_when_asked[i].begin(), shown_when_asked[i].end(), path.begin()));
  }
}

// A worker stands in a directory of its own, so that "." would mean another place on each.
TEST(SevenNode, F11_a_relative_path_is_refused_when_the_run_starts) {
  for (const char* path : {".", "", "here/there", "../x"}) {
    const Json input = {{"repository", path}, {"question", "Who owns engine?"}};
    expect_refused(cairn({"start", "seven_node", "--input", input.dump()}), 4, "repository");
  }
}

}  // namespace
}  // namespace cairn::program
