// Questions on the sample data by the real program, offline; each command as its page gives it.
#include <gtest/gtest.h>

#include "tests/ops/planners/planner_runs.hpp"

namespace cairn::program {
namespace {

TEST(RoundPlannerProgram, the_first_question_needs_no_preparation_and_its_plan_is_drawn) {
  const Ran ran =
      cairn({"start", "round_planner", "--input", R"({"question": "Why did sales fall in May?"})", "--wait", "--json"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  const Json run = ran.json();
  EXPECT_EQ(run["output"]["outcome"], "answered") << run;
  EXPECT_TRUE(has(run["output"]["answer"], "it fell by")) << run;
  const std::string plan = cairn_ok({"plan", run["run"]}).out;
  for (const char* part :
       {"metadata_lookup", "es_query_gen", "es_query_exec", "analyze_results", "succeeded", "round 2"})
    EXPECT_TRUE(has(plan, part)) << plan;
}

TEST(RoundPlannerProgram, the_sample_is_loaded_once) {
  cairn_ok({"dataset", "load"});
  EXPECT_TRUE(has(cairn_ok({"dataset", "load"}).out, "there already"));
  EXPECT_EQ(cairn_ok({"dataset", "load", "--json"}).json(),
            Json::parse(R"({"schema": "sample_shop", "login": "cairn_data", "loaded": false})"));
}

TEST(RoundPlannerProgram, a_run_that_cannot_be_answered_is_a_failed_run) {
  const Ran ran = cairn(
      {"start", "round_planner", "--input", R"({"question": "How many unicorns were there?"})", "--wait", "--json"});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_TRUE(has(ran.json()["reason"], "unicorns")) << ran.out;
}

TEST(RoundPlannerProgram, settings_that_make_no_sense_are_refused_with_a_sentence) {
  const auto start = [] { return cairn({"start", "round_planner", "--input", R"({"question": "Hello!"})", "--wait"}); };
  const std::vector<std::pair<const char*, const char*>> wrong = {{"CAIRN_QUERY_LANGUAGE", "elastic"},
                                                                  {"CAIRN_QUERY_ROWS", "0"},
                                                                  {"CAIRN_QUERY_MS", "soon"},
                                                                  {"CAIRN_DATASET_DSN", "nothing=like that"}};
  for (const auto& [name, value] : wrong) {
    setenv(name, value, 1);
    const Ran ran = start();
    unsetenv(name);
    const bool is_unknown_here = std::string(name) == "CAIRN_QUERY_LANGUAGE";  // another release may speak it
    expect_refused(ran, is_unknown_here ? 4 : 2, name);
  }
}

TEST(RoundPlannerProgram, a_schema_of_somebodys_that_is_not_there_is_said) {
  setenv("CAIRN_DATASET_DSN", "host=/nowhere", 1);
  const Ran ran =
      cairn({"start", "round_planner", "--input", R"({"question": "How many orders?"})", "--wait", "--json"});
  unsetenv("CAIRN_DATASET_DSN");
  EXPECT_EQ(ran.exit, 1);
  EXPECT_TRUE(has(ran.json()["reason"], "Expected to reach the data")) << ran.out;
}

}  // namespace
}  // namespace cairn::program
