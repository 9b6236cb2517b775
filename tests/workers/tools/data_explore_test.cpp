// Looking around in the data: tables, one table, some rows, values, each within its limits.
#include <gtest/gtest.h>

#include "tests/workers/planners/round_planner/round_planner_trial.hpp"
#include "workers/planners/round_planner/prompts.hpp"

namespace cairn {
namespace {

using test::rounds::nine_tools;
using test::rounds::sample;

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

ToolAnswer call(const std::string& tool, Json inputs, const Dataset& dataset = sample()) {
  for (const ToolSpec& spec : nine_tools(dataset)) {
    if (spec.name != tool) continue;
    ToolCall made;
    made.tool = tool;
    made.inputs = std::move(inputs);
    return std::get<NativeTool>(spec.does)(made);
  }
  return Failure{"error", "There is no tool " + tool, false, {}};
}

TEST(DataExplore, lists_tables_page_by_page) {
  const Json all = (*call("list_tables", Json::object()))["tables"];
  ASSERT_EQ(all["tables"].size(), 3U) << all;
  EXPECT_EQ(all["more"], false);
  EXPECT_EQ(all["tables"][0]["table"], "orders");
  EXPECT_GT(all["tables"][0]["columns"], 4);
  const Json last = (*call("list_tables", {{"from", 2}}))["tables"];
  EXPECT_EQ(last["tables"].size(), 1U);
  EXPECT_EQ(last["all"], 3);
}

TEST(DataExplore, describes_a_table_with_its_keys) {
  const Json table = (*call("describe_table", {{"table", "orders"}}))["table"];
  EXPECT_EQ(table["links"].size(), 2U) << table;
  EXPECT_TRUE(says(table["about"], "ordered"));
}

TEST(DataExplore, shows_rows_and_goes_on_where_it_ended) {
  const Json rows = (*call("sample_rows", {{"table", "orders"}, {"rows", 2}}))["es_results"];
  EXPECT_EQ(rows["rows"].size(), 2U);
  EXPECT_EQ(rows["more"], true);
  const Json next = (*call("sample_rows", {{"table", "orders"}, {"rows", 2}, {"from", 1}}))["es_results"];
  EXPECT_EQ(next["rows"][0], rows["rows"][1]);
}

TEST(DataExplore, finds_values) {
  const Json found = (*call("find_values", {{"values", {"Berlin"}}, {"tables", {"shops"}}}))["found_values"];
  ASSERT_EQ(found["values"].size(), 1U) << found;
  EXPECT_EQ(found["values"][0]["column"], "city");
}

TEST(DataExplore, refuses_in_one_sentence) {
  const std::vector<std::pair<std::string, Json>> bad = {{"list_tables", {{"from", -1}}},
                                                         {"list_tables", {{"from", "x"}}},
                                                         {"describe_table", Json::object()},
                                                         {"sample_rows", {{"table", "orders"}, {"rows", 21}}},
                                                         {"find_values", {{"values", Json::array()}}},
                                                         {"find_values", {{"values", {7}}}}};
  for (const auto& [tool, inputs] : bad) {
    const ToolAnswer answer = call(tool, inputs);
    ASSERT_FALSE(answer) << tool << inputs;
    EXPECT_EQ(answer.error().error, "invalid") << tool;
    EXPECT_TRUE(answer.error().message.starts_with("Expected ") && says(answer.error().message, "but got"))
        << answer.error().message;
  }
  for (const char* tool : {"describe_table", "sample_rows"})
    EXPECT_EQ(call(tool, {{"table", "orders; drop table orders"}}).error().error, "not_found");
}

TEST(ShownWithin, keeps_the_form_and_counts_what_is_left_out) {
  Json rows = Json::array();
  for (int i = 0; i < 1'000; ++i) rows.push_back({i, "row " + std::to_string(i)});
  const Json shown = shown_within({{"says", "the rows"}, {"rows", rows}}, 1'000);
  EXPECT_LE(canonical(shown).size(), 1'100U);
  EXPECT_EQ(shown["says"], "the rows");
  ASSERT_TRUE(shown["rows"].is_array());
  EXPECT_EQ(shown["rows"][1], rows[1]) << "an element is whole or left out";
  EXPECT_EQ(shown["rows_left_out"], 1'000 - shown["rows"].size());
  EXPECT_EQ(shown_within(rows[0], 1'000), rows[0]);
  EXPECT_LE(shown_within(std::string(5'000, 'x'), 1'000).get<std::string>().size(), 1'100U);
}

}  // namespace
}  // namespace cairn
