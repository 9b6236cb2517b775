// Looking around in the data: tables, one table, some rows, values, each within its limits.
#include <gtest/gtest.h>
#include <optional>

#include "storage/postgres/administration.hpp"
#include "tests/workers/planners/round_planner/round_planner_trial.hpp"
#include "workers/handlers/shown_values.hpp"

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

TEST(DataExplore, issue_20_2_a_table_that_there_is_not_is_refused_and_not_passed_over) {
  const ToolAnswer answer = call("find_values", {{"values", {"Berlin"}}, {"tables", {"shops", "stores"}}});
  ASSERT_FALSE(answer) << *answer;
  EXPECT_EQ(answer.error().error, "not_found");
  EXPECT_EQ(answer.error().message, "Expected a table of the data, but \"stores\" is none.");
}

TEST(DataExplore, issue_20_2_a_page_of_rows_is_as_sure_as_its_query) {
  const auto tone = [](const Json& more) {
    Json query = {{"language", "sql"}, {"text", "select 1 as n"}, {"says", "a number"}};
    query.update(more);
    const ToolAnswer answer = call("page_query", {{"es_query", query}, {"page", {{"number", 1}, {"size", 5}}}});
    return answer ? answer->at("tone") : Json(answer.error().message);
  };
  EXPECT_EQ(tone(Json::object()), "sure");
  EXPECT_EQ(tone({{"doubts", Json::array({"A word was not used."})}}), "uncertain");
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

// A view each of whose rows takes its time, and a table that another session holds.
struct SlowData {
  SlowData() {
    data.dsn = test::new_database(1);
    data.login = "idler";
    data.schema = "slow";
    data.limits.timeout_ms = 2'000;
    holder.emplace(*data.dsn, "test", no_limit);
    holder->execute(R"sql(
      do $$ begin create role idler login; exception when duplicate_object then end $$;
      create schema slow;
      create table slow.a (x int primary key, y int references slow.a);
      insert into slow.a values (1, 1);
      create view slow.b as select g as n, pg_sleep(0.4)::text as waited from generate_series(1, 100) g offset 0;
      analyze slow.a;
      create table slow.z (x int);
      grant usage on schema slow to idler;
      grant select on all tables in schema slow to idler)sql");
  }
  Dataset data;
  std::optional<Administration> holder;
};

// The count of a table's rows as it is made from what was looked up.
Json query_of(const Json& looked_up, const std::string& table, const Dataset& dataset) {
  const ToolAnswer made = call("es_query_gen",
                               {{"metadata_results", looked_up.at("metadata_results")},
                                {"analysis_result", {{"kind", "count"}, {"references", Json::array({table})}}}},
                               dataset);
  return made ? *made : Json{{"es_query", made.error().message}};
}

TEST(DataExplore, issue_20_2_rows_that_have_come_at_the_limit_of_time_are_a_part_and_say_so) {
  const SlowData slow;
  const ToolAnswer answer = call("sample_rows", {{"table", "b"}, {"rows", 20}}, slow.data);
  ASSERT_TRUE(answer) << answer.error().message;
  const Json& rows = answer->at("es_results");
  EXPECT_GE(rows["rows"].size(), 1U);
  EXPECT_LT(rows["rows"].size(), 20U);
  EXPECT_EQ(rows["rows"][0][0], 1);
  EXPECT_EQ(rows["more"], true);
  EXPECT_EQ(rows["cut"], "The time did not suffice for all of it.");
  EXPECT_EQ(answer->at("tone"), "uncertain");
  const ToolAnswer whole = call("sample_rows", {{"table", "a"}, {"rows", 20}}, slow.data);
  ASSERT_TRUE(whole);
  EXPECT_FALSE(whole->at("es_results").contains("cut"));
  EXPECT_EQ(whole->at("es_results")["more"], false);
  EXPECT_EQ(whole->at("tone"), "sure");
}

TEST(DataExplore, issue_20_2_tables_that_have_come_at_the_limit_of_time_are_a_part_and_say_so) {
  SlowData slow;
  slow.holder->begin();
  slow.holder->execute("lock table slow.z in access exclusive mode");
  const ToolAnswer listed = call("list_tables", Json::object(), slow.data);
  const ToolAnswer described = call("describe_table", {{"table", "a"}}, slow.data);
  const ToolAnswer beyond = call("describe_table", {{"table", "z"}}, slow.data);
  const ToolAnswer values = call("find_values", {{"values", {"x"}}, {"tables", {"a"}}}, slow.data);
  const ToolAnswer looked_up = call("metadata_lookup", {{"references", {"a"}}}, slow.data);
  slow.holder->roll_back();
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(listed->at("tables")["tables"].size(), 2U) << *listed;
  EXPECT_EQ(listed->at("tables")["more"], true);
  EXPECT_TRUE(listed->at("tables").contains("cut"));
  EXPECT_EQ(listed->at("tone"), "uncertain");
  ASSERT_TRUE(described) << described.error().message;
  EXPECT_EQ(described->at("table")["columns"].size(), 2U);
  EXPECT_TRUE(described->at("table").contains("cut"));
  ASSERT_FALSE(beyond) << "it is not said that there is none";
  EXPECT_EQ(beyond.error().error, "limit");
  EXPECT_TRUE(beyond.error().retryable);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_TRUE(values->at("found_values").contains("cut"));
  EXPECT_EQ(values->at("tone"), "uncertain");
  ASSERT_TRUE(looked_up) << looked_up.error().message;
  EXPECT_EQ(looked_up->at("tone"), "uncertain");
  const Json query = query_of(*looked_up, "a", slow.data);
  EXPECT_EQ(query["tone"], "uncertain") << "what is left out of it is no secret";
  EXPECT_EQ(query["es_query"]["doubts"], Json::array({"The data has tables or keys that were not read."}));
}

TEST(DataExplore, issue_20_2_a_table_that_the_time_did_not_suffice_for_is_a_doubt_of_lookup_query_and_explanation) {
  const SlowData slow;
  const ToolAnswer looked_up =
      call("metadata_lookup", {{"references", {"b", "oslo"}}, {"question", "How many b are there?"}}, slow.data);
  ASSERT_TRUE(looked_up) << looked_up.error().message;
  const Json& metadata = looked_up->at("metadata_results");
  EXPECT_EQ(metadata["not_searched"], Json::array({"b"})) << metadata;
  EXPECT_EQ(looked_up->at("tone"), "uncertain");
  const std::string gap = "The table b was not searched: the time did not suffice.";
  const Json query = query_of(*looked_up, "b", slow.data);
  EXPECT_EQ(query["tone"], "uncertain");
  EXPECT_EQ(query["es_query"]["doubts"], Json::array({gap}));
  const ToolAnswer explained = call("explain_metadata", {{"metadata_results", metadata}}, slow.data);
  ASSERT_TRUE(explained) << explained.error().message;
  EXPECT_EQ(explained->at("tone"), "uncertain");
  EXPECT_TRUE(says(explained->at("explanation"), gap)) << *explained;
}

TEST(DataExplore, a_question_that_names_nothing_of_the_data_is_told_what_there_is) {
  const ToolAnswer answer = call("metadata_lookup", {{"references", {"unicorns"}}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().error, "not_found");
  EXPECT_TRUE(says(answer.error().message, "It has the tables orders, products, shops.")) << answer.error().message;
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
