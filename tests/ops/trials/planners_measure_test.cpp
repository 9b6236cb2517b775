// `cairn planners measure`: tasks of each planner through the program, and a server that stands for a person's model.
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>

#include "tests/ops/planners/planner_runs.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "tests/workers/ports/loopback.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

const std::string shipped = testing::source_dir() + "/tests/trials";
const std::vector<std::string> planners = {"venture_scope", "plan_decomposer", "page_agent", "seven_node",
                                           "round_planner"};

Json tasks_of_file(const std::string& planner) {
  return Json::parse(read_file(fs::path(shipped) / (planner + ".json")))["tasks"];
}

// The verdicts, by "WAY TASK".
std::map<std::string, Json> verdicts_of(const Ran& ran) {
  std::map<std::string, Json> verdicts;
  for (const Json& line : ran.lines())
    if (line.contains("task"))
      verdicts[line["answers"].get<std::string>() + " " + line["task"].get<std::string>()] = line;
  return verdicts;
}

class PlannersMeasured : public ::testing::TestWithParam<std::string> {};

// The first task with faults, the first whose material gives orders, and the last one.
TEST_P(PlannersMeasured, tasks_come_out_right_with_the_stand_in_and_honestly_offline) {
  Arguments command = {"planners", "measure",   shipped,   "--only",    GetParam(),
                       "--json",   "--answers", "offline", "--answers", "stand-in"};
  std::set<std::string> names;
  const Json tasks = tasks_of_file(GetParam());
  const auto add_first = [&](const std::string& text) {
    const auto has_text = [&text](const Json& task) { return canonical(task).find(text) != std::string::npos; };
    const auto found = std::find_if(tasks.begin(), tasks.end(), has_text);
    if (found != tasks.end()) names.insert((*found)["name"]);
  };
  for (const char* text : {"\"faults\"", "\"hostile\""}) add_first(text);
  names.insert(tasks.back()["name"]);
  for (const std::string& name : names) command.insert(command.end(), {"--task", name});
  const Ran ran = cairn(command);
  EXPECT_LE(ran.exit, 1) << ran.err;
  const std::map<std::string, Json> verdicts = verdicts_of(ran);
  for (const std::string& name : names) {
    ASSERT_TRUE(verdicts.contains("stand-in " + name)) << ran.out;
    EXPECT_EQ(verdicts.at("stand-in " + name)["outcome"], "right") << verdicts.at("stand-in " + name);
    const Json& offline = verdicts.at("offline " + name);
    EXPECT_TRUE(offline["outcome"] != "wrong" || offline["doubted"] == true) << offline;
  }
}

INSTANTIATE_TEST_SUITE_P(each, PlannersMeasured, ::testing::ValuesIn(planners),
                         [](const auto& of) { return of.param; });

TEST(PlannersTable, is_of_the_tasks_that_are_shipped) {
  const std::string page = read_file(testing::source_dir() + "/workers/planners/README.md");
  for (const std::string& planner : planners) {
    const Json tasks = tasks_of_file(planner);
    EXPECT_EQ(tasks.size(), 20U) << planner;
    std::size_t faulted = 0;
    for (const Json& task : tasks) faulted += canonical(task).find("\"faults\"") != std::string::npos ? 1 : 0;
    EXPECT_GE(faulted, 8U) << planner;
    const std::regex row("\\| `" + planner +
                         "` \\| (\\d+) \\| (\\d+) \\| (\\d+) of (\\d+) \\| \\d+ \\| \\d+ \\| (\\d+) "
                         "\\| (\\d+) \\| (\\d+) \\| (\\d+) \\| (\\d+) \\|");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(page, found, row)) << planner << " has no row";
    const auto cell = [&found](std::size_t i) { return std::stoul(found[i]); };
    EXPECT_EQ(cell(1), tasks.size()) << planner;
    EXPECT_EQ(cell(2), tasks.size()) << planner << ": with the stand-in";
    EXPECT_EQ(cell(3), faulted) << planner << ": a fault that was not survived";
    EXPECT_EQ(cell(4), faulted) << planner;
    EXPECT_EQ(cell(9), 0U) << planner << ": wrong without a doubt";
    EXPECT_EQ(cell(5) + cell(6) + cell(7) + cell(8) + cell(9), tasks.size()) << planner << ": offline";
  }
}

// --- a model ---------------------------------------------------------------------------------------------------------
// An endpoint with one task, and a server in the place of a real model.
class PlannersWithModel : public ::testing::Test {
 protected:
  PlannersWithModel() {
    fs::create_directories(folder);
    const Json task = {{"name", "tea"},
                       {"about", "A goal."},
                       {"kind", "easy"},
                       {"input", {{"goal", "Make tea"}}},
                       {"replies", Json::array()},
                       {"checks", {{{"at", "/plan/*/title"}, {"is", "Pour"}}}}};
    std::ofstream(folder / "plan_decomposer.json") << Json{{"tasks", {task}}};
  }
  ~PlannersWithModel() override { fs::remove_all(folder); }

  static testing::LoopbackServer::Reply says(const std::string& name) {
    const Json child = {
        {"name", name}, {"instruction", "So."}, {"dependencies", Json::array()}, {"context", nullptr}, {"leaf", true}};
    const Json reply = {{"target_node_id", "1"},
                        {"mode", "plan_bfs"},
                        {"should_stop", true},
                        {"reason", "One."},
                        {"children", {child}}};
    const Json message = {{"role", "assistant"}, {"content", reply.dump()}};
    return {200, Json{{"model", "theirs"},
                      {"choices", {{{"message", message}}}},
                      {"usage", {{"prompt_tokens", 9}, {"completion_tokens", 4}}}}
                     .dump()};
  }

  fs::path folder = directory() / "model_trials";
};

TEST_F(PlannersWithModel, is_measured_recorded_and_checked_without_it) {
  const std::string kept = (folder / "kept").string();
  {
    testing::LoopbackServer server([](const auto&) { return says("Pour"); });
    const EnvironmentVariable url("CAIRN_MODEL_URL", server.url("/v1"));
    const EnvironmentVariable key("CAIRN_MODEL_KEY", "sesame-314");
    const Ran ran =
        cairn_ok({"planners", "measure", folder.string(), "--answers", "model", "--recordings", kept, "--json"});
    EXPECT_EQ(verdicts_of(ran).at("model tea")["outcome"], "right") << ran.out;
    EXPECT_EQ(server.requests().at(0)["authorization"], "Bearer sesame-314");
  }
  const std::string recorded = read_file(fs::path(kept) / "plan_decomposer.jsonl");
  EXPECT_EQ(recorded.find("sesame"), std::string::npos);
  EXPECT_NE(recorded.find("\"latency_ms\":"), std::string::npos);
  const Arguments again = {"planners",     "measure", folder.string(), "--answers", "recordings",
                           "--recordings", kept,      "--json"};
  const Json verdict = verdicts_of(cairn_ok(again)).at("recordings tea");
  EXPECT_EQ(verdict["outcome"], "right");
  EXPECT_EQ(verdict["changed_prompts"], 0);
  const std::string other = std::regex_replace(recorded, std::regex("Make tea"), "Make coffee");
  std::ofstream(fs::path(kept) / "plan_decomposer.jsonl") << other;
  EXPECT_EQ(verdicts_of(cairn_ok(again)).at("recordings tea")["changed_prompts"], 1);
  std::ofstream(fs::path(kept) / "plan_decomposer.jsonl") << "{}\n";
  expect_refused(cairn(again), 4, "Expected an exchange");
}

TEST_F(PlannersWithModel, recordings_of_other_tasks_are_kept) {
  const fs::path kept = folder / "kept" / "plan_decomposer.jsonl";
  fs::create_directories(kept.parent_path());
  std::ofstream(kept) << R"({"task": "other", "schema": "s", "request": {}, "reply": {}})"
                      << "\n";
  testing::LoopbackServer server([](const auto&) { return says("Pour"); });
  const EnvironmentVariable url("CAIRN_MODEL_URL", server.url("/v1"));
  const Arguments measure = {
      "planners", "measure", folder.string(), "--answers", "model", "--recordings", kept.parent_path().string()};
  Arguments one = measure;
  one.insert(one.end(), {"--task", "tea"});
  cairn_ok(one);
  EXPECT_NE(read_file(kept).find("\"other\""), std::string::npos);
  cairn_ok(measure);
  EXPECT_EQ(read_file(kept).find("\"other\""), std::string::npos);
  EXPECT_NE(read_file(kept).find("\"tea\""), std::string::npos);
}

// The outcome is right, but not by the replies of the task.
TEST_F(PlannersWithModel, a_stand_in_without_a_reply_or_with_a_fault_left_makes_the_task_fail) {
  const auto measured = [this](const Json& replies) {
    const Json task = {{"name", "tea"},      {"about", "A goal."},
                       {"kind", "easy"},     {"input", {{"goal", "Make tea"}}},
                       {"replies", replies}, {"checks", {{{"at", "/status"}, {"is", "done"}}}}};
    std::ofstream(folder / "plan_decomposer.json") << Json{{"tasks", {task}}};
    const Ran ran = cairn({"planners", "measure", folder.string(), "--answers", "stand-in"});
    EXPECT_EQ(ran.exit, 1) << ran.out;
    return ran.out;
  };
  EXPECT_NE(measured(Json::array()).find("There is no reply to"), std::string::npos);
  const Json empty = {{"target_node_id", "1"},
                      {"mode", "plan_bfs"},
                      {"should_stop", true},
                      {"reason", "One."},
                      {"children", Json::array()}};
  const Json never = {{"to", "another"}, {"says", 1}, {"faults", {"slow"}}};
  EXPECT_NE(measured({{{"to", "decomposition"}, {"says", empty}}, never}).find("did not come to a fault"),
            std::string::npos);
}

TEST_F(PlannersWithModel, that_does_it_wrong_is_counted_wrong) {
  testing::LoopbackServer server([](const auto&) { return says("Sing"); });
  const EnvironmentVariable url("CAIRN_MODEL_URL", server.url("/v1"));
  const Ran ran =
      cairn({"planners", "measure", folder.string(), "--answers", "model", "--recordings", (folder / "kept").string()});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.out.find("tea: wrong"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("| Model |"), std::string::npos) << ran.out;
}

TEST_F(PlannersWithModel, the_table_is_written_between_its_marks_and_nowhere_else) {
  const fs::path page = write_file(
      "page.md",
      "before\n<!-- cairn planners measure: begins -->\nold\n<!-- cairn planners measure: ends -->\nafter\n");
  cairn({"planners", "measure", folder.string(), "--answers", "offline", "--write", page.string()});
  const std::string text = read_file(page);
  EXPECT_TRUE(text.starts_with("before\n") && text.ends_with("\nafter\n")) << text;
  EXPECT_EQ(text.find("old"), std::string::npos);
  EXPECT_NE(text.find("| `plan_decomposer` | 1 |"), std::string::npos) << text;
  const fs::path plain = write_file("plain.md", "nothing\n");
  const Ran ran = cairn({"planners", "measure", folder.string(), "--answers", "offline", "--write", plain.string()});
  EXPECT_EQ(ran.exit, 4);
  EXPECT_EQ(ran.out, "") << "the page is looked at before any task is run";
  EXPECT_EQ(read_file(plain), "nothing\n");
}

TEST_F(PlannersWithModel, bad_arguments_are_refused) {
  expect_refused(cairn({"planners", "measure", (folder / "none").string()}), 3, "Expected tasks");
  expect_refused(cairn({"planners", "measure", folder.string(), "--only", "tool_agent"}), 4, "Expected a planner");
  expect_refused(cairn({"planners", "measure", folder.string(), "--task", "none"}), 3, "Expected tasks");
  EXPECT_EQ(cairn({"planners", "measure", folder.string(), "--answers", "model"}).exit, 2);
  EXPECT_EQ(cairn({"planners", "measure", folder.string(), "--answers", "guess"}).exit, 2);
  expect_refused(cairn({"planners", "measure", folder.string(), "--answers", "recordings", "--recordings", "none"}), 3,
                 "recordings of plan_decomposer");
  Json task = {{"name", "x"},
               {"about", "x"},
               {"kind", "easy"},
               {"database", "broken"},
               {"input", {{"question", "x"}}},
               {"replies", Json::array()},
               {"checks", {{{"at", "/status"}, {"is", "done"}}}}};
  std::ofstream(folder / "round_planner.json") << Json{{"tasks", {task}}};
  const Arguments measure = {"planners", "measure", folder.string(), "--only", "round_planner"};
  expect_refused(cairn(measure), 3, "Expected the database broken");
  fs::create_directories(folder / "databases");
  std::ofstream(folder / "databases" / "broken.sql") << "create table x (";
  expect_refused(cairn(measure), 4, "syntax error");
  task.erase("database");
  task["repository"] = "odd";
  std::ofstream(folder / "seven_node.json")
      << Json{{"tasks", {task}},
              {"repositories", {{"odd", {{{"author", "A <a@b.c>"}, {"date", "May"}, {"files", Json::object()}}}}}}};
  expect_refused(cairn({"planners", "measure", folder.string(), "--only", "seven_node"}), 4, "Expected a commit");
}

}  // namespace
}  // namespace cairn::program
