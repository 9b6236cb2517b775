// The figures on the planners' pages, measured again as a whole, and the thresholds that they must hold.
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <regex>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

// The lines of a command that takes minutes; its exit is 0.
std::vector<Json> lines_of(Arguments command) {
  command.emplace_back("--json");
  Beside measured(command);
  EXPECT_TRUE(wait_until([&] { return measured.has_ended(); }, std::chrono::minutes(20)));
  EXPECT_EQ(measured.wait(), 0) << measured.err();
  return Ran{0, measured.out(), ""}.lines();
}

// By the way of answering.
std::map<std::string, Json> figures_of(const std::vector<Json>& lines) {
  std::map<std::string, Json> figures;
  for (const Json& line : lines)
    if (line.contains("figures")) figures[line["answers"]] = line["figures"];
  return figures;
}

Json measured_questions(const std::string& folder, const Arguments& more = {}) {
  cairn_ok({"dataset", "load"});
  Arguments command = {"dataset", "measure", folder};
  command.insert(command.end(), more.begin(), more.end());
  return figures_of(lines_of(command)).at("offline");
}

std::string page(const std::string& name) { return read_file(testing::source_dir() + "/workers/planners/" + name); }

// The numbers that a pattern finds in a page; none if it does not.
std::vector<int> numbers_in(const std::string& text, const std::string& pattern) {
  std::smatch found;
  std::vector<int> numbers;
  if (!std::regex_search(text, found, std::regex(pattern))) return numbers;
  for (std::size_t i = 1; i < found.size(); ++i) numbers.push_back(std::stoi(found[i]));
  return numbers;
}

// --- questions on data -----------------------------------------------------------------------------------------------
class SampleFigures : public ::testing::TestWithParam<bool> {};

TEST_P(SampleFigures, issue_20_2_hold_on_the_samples_and_are_those_of_the_page) {
  const bool has_comments = GetParam();
  const fs::path folder = (fs::path(testing::samples()) / "text2sql").lexically_normal();
  if (!testing::has_samples()) GTEST_SKIP() << "there is no folder of samples";
  const Json figures = measured_questions(folder, has_comments ? Arguments{} : Arguments{"--no-comments"});
  const int questions = figures["questions"];
  const int right = figures["right"];
  EXPECT_EQ(questions, 115);
  EXPECT_EQ(figures["wrong_without_doubt"], 0) << figures;
  EXPECT_GE(100 * right, 30 * questions) << figures;
  EXPECT_GE(100 * figures["linked"].get<int>(), 95 * questions) << figures;
  EXPECT_GE(100 * figures["linked_in_all"].get<int>(), 95 * questions) << figures;
  EXPECT_LE(3 * figures["largest_share_shown_of_all"].get<double>(), 1) << figures;
  const std::string text = page("round_planner/README.md");
  const std::string row = has_comments ? "Right offline" : "Right offline, with `--no-comments`";
  const std::vector<int> cells = numbers_in(text, "\\| " + row + R"( \| (\d+) \| (\d+) \| (\d+) \((\d+) %\) \|)");
  ASSERT_EQ(cells.size(), 4U) << row;
  EXPECT_EQ(cells[0] + cells[1], cells[2]);
  EXPECT_EQ(cells[2], right);
  EXPECT_EQ(cells[3], (100 * right + questions / 2) / questions);
  if (!has_comments) return;
  const int linked = figures["linked"];
  const std::vector<int> shown = numbers_in(text, R"(reads is shown \| (\d+) \| (\d+) \| (\d+) \((\d+) %\) \|)");
  ASSERT_EQ(shown.size(), 4U);
  EXPECT_EQ(shown[0] + shown[1], shown[2]);
  EXPECT_EQ(shown[2], linked);
  EXPECT_EQ(shown[3], (100 * linked + questions / 2) / questions);
  EXPECT_EQ(numbers_in(text, R"(carry one too \((\d+) of (\d+)\))"),
            (std::vector<int>{right - figures["right_without_doubt"].get<int>(), right}));
  const std::vector<int> share = numbers_in(text, R"(at most (\d+) % of it shown \| \d+ \| \d+ \| (\d+) \()");
  ASSERT_EQ(share.size(), 2U);
  EXPECT_EQ(share[0], static_cast<int>(100 * figures["largest_share_shown_of_all"].get<double>() + 0.5));
  EXPECT_EQ(share[1], figures["linked_in_all"].get<int>());
}

INSTANTIATE_TEST_SUITE_P(text2sql, SampleFigures, ::testing::Bool(),
                         [](const auto& of) { return of.param ? "with_comments" : "without_comments"; });

// German and shortened names, keys of two columns, dates as texts: written after the rules, and wrong without a doubt
// nine times at first.
TEST(DatasetFigures, issue_20_2_hold_on_databases_with_other_habits_of_names) {
  const Json figures = measured_questions(testing::source_dir() + "/tests/trials/questions");
  EXPECT_EQ(figures["wrong_without_doubt"], 0) << figures;
  EXPECT_GE(100 * figures["right"].get<int>(), 30 * figures["questions"].get<int>()) << figures;
}

// --- tasks of the planners -------------------------------------------------------------------------------------------
// The rows of the table without calls and repairs: tasks; right with the stand-in, of those with faults right and all;
// offline right, asked back, failed, wrong with a doubt and without one.
std::map<std::string, std::vector<int>> rows_of(const std::vector<Json>& verdicts) {
  std::map<std::string, std::vector<int>> rows;
  for (const Json& line : verdicts) {
    if (!line.contains("outcome")) continue;
    const std::string outcome = line["outcome"];
    const bool is_right = outcome == "right";
    const bool is_wrong = outcome == "wrong";
    const bool is_doubted = line["doubted"];
    const bool is_faulted = line["with_faults"];
    for (const std::string& planner : {line["planner"].get<std::string>(), std::string("all")}) {
      std::vector<int>& row = rows[planner];
      row.resize(9);
      if (line["answers"] == "offline") {
        const std::vector<bool> is = {is_right, outcome == "asked_back", outcome == "failed", is_wrong && is_doubted,
                                      is_wrong && !is_doubted};
        for (std::size_t i = 0; i < is.size(); ++i) row[4 + i] += is[i] ? 1 : 0;
      } else {
        const std::vector<bool> is = {true, is_right, is_faulted && is_right, is_faulted};
        for (std::size_t i = 0; i < is.size(); ++i) row[i] += is[i] ? 1 : 0;
      }
    }
  }
  return rows;
}

TEST(PlannersFigures, are_those_of_the_table) {
  const std::vector<Json> lines = lines_of({"planners", "measure", testing::source_dir() + "/tests/trials"});
  const std::map<std::string, std::vector<int>> rows = rows_of(lines);
  EXPECT_EQ(rows.size(), 6U);
  const std::string table = page("README.md");
  for (const auto& [planner, row] : rows) {
    const std::string name = planner == "all" ? planner : "`" + planner + "`";
    EXPECT_EQ(numbers_in(table, "\\| " + name +
                                    R"( \| (\d+) \| (\d+) \| (\d+) of (\d+) \| \d+ \| \d+ \| )"
                                    R"((\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|)"),
              row)
        << planner;
  }
  const std::map<std::string, Json> figures = figures_of(lines);
  EXPECT_EQ(figures.at("stand-in")["right"], rows.at("all")[1]);
  EXPECT_EQ(figures.at("offline")["right"], rows.at("all")[4]);
}

}  // namespace
}  // namespace cairn::program
