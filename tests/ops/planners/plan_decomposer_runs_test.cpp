// The page on the plan decomposer, taken at its word: its examples are run as they stand there, without a model.
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

// The blocks of shell commands on the page.
std::vector<std::string> examples() {
  const std::string page =
      read_file(std::filesystem::path(testing::source_dir()) / "workers/planners/plan_decomposer/README.md");
  std::vector<std::string> blocks;
  for (std::size_t at = page.find("```sh\n"); at != std::string::npos; at = page.find("```sh\n", at)) {
    at += 6;
    blocks.push_back(page.substr(at, page.find("```", at) - at));
  }
  return blocks;
}

Ran run_example(const std::string& text) {
  const std::string program =
      "cairn() { " + testing::cairn_program() + " \"$@\" --json; }\ncd " + directory().string() + "\n";
  return run_program("/bin/sh", {write_file("example.sh", program + text)});
}

TEST(PlanDecomposer, S1_38_the_example_of_a_whole_plan_runs_as_it_stands_on_the_page) {
  ASSERT_EQ(examples().size(), 2u);
  const Ran ended = run_example(examples()[0]);
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const Json result = ended.json()["output"]["result"];
  EXPECT_EQ(result["mode"], "plan_bfs");
  EXPECT_EQ(result["created_tasks"].size(), 6u);
  EXPECT_EQ(result["stopped_reason"], nullptr);
  EXPECT_EQ(ended.json()["output"]["feedback"]["en"], "Plan \"Release 2.0\": 6 sub-tasks created.");
  const std::string tree = cairn_ok({"plan", ended.json()["run"]}).out;
  EXPECT_NE(tree.find("│  └─ 1.2  planned  Close the branch  after 1.1\n│     ├─ 1.2.1  planned  Tell the teams\n"),
            std::string::npos)
      << tree;
}

TEST(PlanDecomposer, S1_38_the_example_of_one_task_runs_as_it_stands_on_the_page) {
  const Ran ended = run_example(examples().at(1));
  ASSERT_EQ(ended.exit, 0) << ended.err;
  const Json result = ended.json()["output"]["result"];
  EXPECT_EQ(result["mode"], "single_node");
  EXPECT_EQ(result["root_node_id"], "2");
  EXPECT_EQ(result["created_tasks"].size(), 4u);
  EXPECT_EQ(ended.json()["output"]["base_version"], 3);
  EXPECT_EQ(ended.json()["output"]["feedback"]["zh"], "计划 #8 已生成 4 个子任务。");
}

TEST(PlanDecomposer, S1_34_an_unknown_node_is_a_failed_run_with_a_sentence) {
  const std::string input = R"({"goal": "g", "node_id": "9"})";
  const Ran ended = cairn({"start", "plan_decomposer", "--input", input, "--wait", "--json"});
  EXPECT_EQ(ended.exit, 1);
  EXPECT_NE(ended.json()["reason"].get<std::string>().find("Expected node 9 to be a task of the plan"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::program
