// The inputs of the seven-node agent's tools, from the graph's table to the call; how questions are read into them; and
// answers that are raw data.
#include <array>

#include "tests/workers/planners/seven_node/seven_node_trial.hpp"
#include "workers/planners/seven_node/prompts.hpp"
#include "workers/planners/seven_node/question.hpp"
#include "workers/planners/seven_node/raw_data.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn::test::seven {
namespace {

using Strings = std::vector<std::string>;

// --- questions -------------------------------------------------------------------------------------------------------
TEST(SevenNodeQuestions, N1_have_periods) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"Who owns pricing since 2024?", "2024", ""},
      {"What changed in tax in the last 3 months?", "3 months", ""},
      {"What changed in tax over the past two weeks?", "2 weeks", ""},
      {"Who worked most on tax this year?", "this year", ""},
      {"Who owned tax last year?", "last year", "last year"},
      {"What changed in tax in the last year?", "1 year", ""},
      {"Which files of tax changed most often in 2023?", "2023", "2023"},
      {"Who owned tax before 2024?", "", "2023"},
      {"Who owned tax before March 2024?", "", "2024-02"},
      {"Who owned tax until 2024-05-31?", "", "2024-05-31"},
      {"What changed in tax between 2022 and 2023?", "2022", "2023"},
      {"What changed in tax from January 2024 to March 2024?", "2024-01", "2024-03"},
      {"What changed in tax after 2023?", "2024", ""},
      {"What changed in tax since last month?", "last month", ""},
      {"What changed in tax since 10 days ago?", "10 days", ""},
      {"What changed in tax in Q2 2024?", "2024-q2", "2024-q2"},
      {"What changed in tax since march?", "march", ""},
      {"What changed in tax yesterday?", "yesterday", "yesterday"},
      {"What changed in tax today?", "today", ""},
      {"Who owns tax today?", "", ""},
      {"Who owns tax?", "", ""}};
  for (const auto& [text, since, until] : cases) {
    const RepositoryQuestion question = read_question(text);
    EXPECT_EQ(question.since, since) << text;
    EXPECT_EQ(question.until, until) << text;
    EXPECT_TRUE(question.is_on_topic) << text;
    ASSERT_EQ(question.entities.size(), 1U) << text;
    EXPECT_TRUE(question.entities[0] == "tax" || question.entities[0] == "pricing") << question.entities[0];
  }
}

TEST(SevenNodeQuestions, N1_have_limits_people_and_measures) {
  struct Case {
    std::string text;
    Strings kinds;
    Strings entities;
    int limit;
    std::string author;
    std::string measure;
  };
  const std::vector<Case> cases = {
      {"Who are the top 5 contributors to tax?", {"ownership"}, {"tax"}, 5, "", ""},
      {"Which 3 files of tax change most often?", {"hotspots"}, {"tax"}, 3, "", ""},
      {"Show the last 20 commits to pricing", {"recent_changes"}, {"pricing"}, 20, "", ""},
      {"What are the two most active people in tax?", {"hotspots"}, {"tax"}, 2, "", ""},
      {"Who are the most active people in tax?", {"ownership"}, {"tax"}, 0, "", ""},
      {"What did Ann Lee change in tax?", {"recent_changes"}, {"tax"}, 0, "Ann Lee", ""},
      {"Commits by ann@example.org since 2024", {"recent_changes"}, {}, 0, "ann@example.org", ""},
      {"What are Ann's changes to pricing?", {"recent_changes"}, {"pricing"}, 0, "Ann", ""},
      {"What are Ann Lee\xe2\x80\x99s latest changes?", {"recent_changes"}, {}, 0, "Ann Lee", ""},
      {"What has Bob worked on this year?", {"recent_changes"}, {}, 0, "Bob", ""},
      {"Who made the most commits to tax?", {"ownership"}, {"tax"}, 0, "", "commits"},
      {"Who is the owner of tax of all time?", {"ownership"}, {"tax"}, 0, "", "commits"},
      {"Who currently owns tax?", {"ownership"}, {"tax"}, 0, "", "recent"},
      {"Who wrote the lines of engine/decide.cpp?", {"lines"}, {"engine/decide.cpp"}, 0, "", ""},
      {"git blame decide.cpp", {"lines"}, {"decide.cpp"}, 0, "", ""}};
  for (const Case& one : cases) {
    const RepositoryQuestion question = read_question(one.text);
    EXPECT_EQ(question.kinds, one.kinds) << one.text;
    EXPECT_EQ(question.entities, one.entities) << one.text;
    EXPECT_EQ(question.limit, one.limit) << one.text;
    EXPECT_EQ(question.author, one.author) << one.text;
    EXPECT_EQ(question.measure, one.measure) << one.text;
  }
}

TEST(SevenNodeQuestions, a_follow_up_may_bring_a_period_alone) {
  const RepositoryQuestion question = read_question("And in 2023?", {"Who owns pricing?"});
  EXPECT_EQ(question.kinds, Strings{"ownership"});
  EXPECT_EQ(question.entities, Strings{"pricing"});
  EXPECT_EQ(question.since, "2023");
  EXPECT_TRUE(question.is_on_topic);
}

TEST(SevenNode, N1_the_rule_book_gives_the_tools_what_the_question_asks_for) {
  PlannerRun planner(rules());
  const RunId run = planner.run("seven_node", question("Which 2 files of tax changed most often before June 2024?"));
  const Json result = planner.output(run)["results"][0];
  EXPECT_EQ(result["inputs"]["path"], "tax");
  EXPECT_EQ(result["inputs"]["limit"], 2);
  EXPECT_EQ(result["inputs"]["until"], "2024-05");
  EXPECT_EQ(result["outputs"]["files"].size(), 2U);
  EXPECT_EQ(result["outputs"]["until"], "2024-05-31");
  EXPECT_TRUE(has(planner.output(run)["answer"], "until 2024-05-31")) << planner.output(run)["answer"];
}

TEST(SevenNode, an_empty_period_is_answered_with_the_date_of_the_latest_commit) {
  PlannerRun planner(rules());
  const RunId run = planner.run("seven_node", question("Who owns tax since 2025?"));
  EXPECT_EQ(planner.output(run)["outcome"], "answered");
  EXPECT_TRUE(has(planner.output(run)["answer"], "no commits to tax")) << planner.output(run)["answer"];
  EXPECT_TRUE(has(planner.output(run)["answer"], "2024-10-22")) << planner.output(run)["answer"];
}

// --- the table of tools ----------------------------------------------------------------------------------------------
Json tools_of_graph(PlannerRun& planner) {
  return Json::parse(planner.client().graphs().current("seven_node")->text)["nodes"]["query_planner"]["with"]["tools"];
}

Json one_call(const std::string& tool, Json inputs) {
  return {{"calls", {{{"tool", tool}, {"inputs", std::move(inputs)}, {"why", "It is asked for."}}}}};
}

TEST(SevenNode, N1_each_tools_call_has_the_schema_of_its_inputs) {
  PlannerRun planner(rules());
  const Json schema = reply_schema(SevenNodeRole::query_planner, tools_of_graph(planner));
  ASSERT_TRUE(check_schema(schema).ok());
  const Json full = {{"path", "tax"}, {"since", "2024"},      {"until", nullptr}, {"author", "Ann"},
                     {"limit", 5},    {"measure", "commits"}, {"bots", true}};
  EXPECT_TRUE(check_value(schema, one_call("owners", full)).ok());
  EXPECT_TRUE(check_value(schema, one_call("blame", {{"path", "a.c"}, {"limit", 3}})).ok());
  EXPECT_TRUE(check_value(schema, {{"calls", Json::array()}}).ok());
  EXPECT_FALSE(check_value(schema, one_call("blame", full)).ok());
  EXPECT_FALSE(check_value(schema, one_call("owners", {{"path", "tax"}, {"limit", "five"}})).ok());
  EXPECT_FALSE(check_value(schema, one_call("owners", {{"path", "tax"}, {"colour", "red"}})).ok());
  EXPECT_FALSE(check_value(schema, one_call("owners", {{"since", "2024"}})).ok());
  EXPECT_FALSE(check_value(schema, one_call("rm", {{"path", "tax"}})).ok());
}

TEST(SevenNode, N1_a_sixth_tool_with_other_inputs_needs_a_graph_and_no_code) {
  Json seen;
  ToolSpec releases;
  releases.name = "releases";
  releases.does = NativeTool([&seen](const ToolCall& call) -> ToolAnswer {
    seen = call.inputs;
    return Json{{"tags", {"v1.2"}}};
  });
  const Json inputs = {{"type", "object"},
                       {"properties", {{"tag_pattern", {{"type", "string"}}}, {"newest", {{"type", "integer"}}}}},
                       {"required", {"tag_pattern"}},
                       {"additionalProperties", false}};
  PlannerRun planner(script({passes, is_clear, says("query_planner", one_call("releases", {{"tag_pattern", 7}})),
                             says("query_planner", one_call("releases", {{"tag_pattern", "v1.*"}, {"newest", 1}})),
                             reflects("complete", ""), answers("The newest release of that line is v1.2.")}),
                     make_tools({releases}, 1));
  Json graph = Json::parse(planner.client().graphs().current("seven_node")->text);
  graph["name"] = "seven_node_of_mine";
  graph["nodes"]["query_planner"]["with"]["tools"]["releases"] = {{"about", "the releases"}, {"inputs", inputs}};
  ASSERT_TRUE(planner.client().add_graph(graph).ok());
  const RunId run = planner.run("seven_node_of_mine", question("Which release is the newest?"));
  EXPECT_EQ(planner.output(run)["outcome"], "answered");
  EXPECT_EQ(seen, (Json{{"tag_pattern", "v1.*"}, {"newest", 1}, {"repository", numstat}}));
  const std::vector<ModelRequest> asked = planner.model().of("query_planner");
  ASSERT_EQ(asked.size(), 2U);
  const Json data = Json::parse(asked[1].messages.back()["content"].get<std::string>());
  EXPECT_EQ(data["tools"]["releases"]["inputs"], inputs);
  EXPECT_TRUE(data.contains("last_attempt_failed"));
}

TEST(SevenNode, a_graph_that_describes_its_tools_in_words_alone_goes_on_working) {
  PlannerRun planner(rules());
  Json graph = Json::parse(planner.client().graphs().current("seven_node")->text);
  graph["name"] = "seven_node_of_before";
  graph["nodes"]["query_planner"]["with"]["tools"] = {{"owners", "who made most commits"}};
  ASSERT_TRUE(planner.client().add_graph(graph).ok());
  const RunId run = planner.run("seven_node_of_before", question("Who owns tax since 2024?"));
  EXPECT_EQ(planner.output(run)["outcome"], "answered");
  EXPECT_FALSE(planner.output(run)["results"][0]["inputs"].contains("since"));
}

// --- raw data --------------------------------------------------------------------------------------------------------
TEST(IsRaw, S3_17_is_data_without_a_sentence_whatever_its_form) {
  for (const char* text : {"busFactor: 2",
                           "Bus factor: 2",
                           "The bus factor: 2",
                           "2",
                           "dev-004",
                           "{\"bus_factor\": 2}",
                           "[1, 2]",
                           "```json\n{\"owner\": \"dev-004\"}\n```",
                           "{\"owner\": \"dev-004\"}\n{\"owner\": \"dev-005\"}",
                           "owner: dev-004\ncommits: 20\nshare: 0.345",
                           "- owner: dev-004\n- commits: 20",
                           "owner = dev-004, commits = 20",
                           "| author | commits |\n|---|---|\n| dev-004 | 20 |",
                           "author\tcommits\ndev-004\t20",
                           "path,commits,authors\ncore/a.c,3,2",
                           "owner: dev-004 commits: 20 authors: 8",
                           "Owner: Ann Lee",
                           "",
                           " \n ",
                           "1. packages/modules/tax/a.ts\n2. packages/modules/tax/b.ts"})
    EXPECT_TRUE(is_raw(text)) << text;
  for (const char* text :
       {"The bus factor is 2, which means that two people hold it.", "Ann owns it.", "Which part do you mean?",
        "Bus factor: 2, which means that two people made half of the commits.", "Both belong to dev-004, mostly.",
        "Here is what I found:\n| author | commits |\n|---|---|\n| dev-004 | 20 |", "Which one?",
        "Die Hälfte der Änderungen stammt von zwei Personen.", "定价模块主要由 dev-004 维护。",
        "Most changes are by one person.\n\n```json\n{\"owner\": \"dev-004\"}\n```",
        "Owner: Ann Lee made most of the changes in the last year."})
    EXPECT_FALSE(is_raw(text)) << text;
}

TEST(SevenNode, S3_17_a_pair_with_spaces_is_raw_too) {
  PlannerRun planner(script({passes, is_clear, calls({"pricing"}), reflects("complete", ""), answers("Bus factor: 2"),
                             answers("The bus factor is 2, which means that two people hold it.")}));
  const RunId run = planner.run("seven_node", question("What is the bus factor of pricing?"));
  EXPECT_TRUE(has(planner.output(run)["answer"], "which means"));
  EXPECT_EQ(planner.model().of("response_generator").size(), 2U);
}

}  // namespace
}  // namespace cairn::test::seven
