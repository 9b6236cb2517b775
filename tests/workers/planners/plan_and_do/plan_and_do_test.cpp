// A plan carried out, end to end: decomposed, bound, run, and broken down again where it failed.
#include "tests/workers/planners/plan_and_do/plan_and_do_trial.hpp"

namespace cairn::test::doing {
namespace {

// --- to its end ------------------------------------------------------------------------------------------------------
TEST(PlanAndDo, a_goal_is_broken_down_bound_to_tools_and_done) {
  PlannerRun planner(saying({{{"1", {{child("ask"), child("tell", {"1.1"})}}}}, {}}), usual_tools());
  const RunId run = planner.run("plan_and_do", goal());
  EXPECT_EQ(planner.state(run).status, RunStatus::done) << planner.state(run).reason;
  const Json output = planner.output(run);
  EXPECT_EQ(output["outcome"], "done");
  EXPECT_EQ(output["summary"], "2 of 2 tasks are done.");
  EXPECT_EQ(results(output), (Json{{"1.1", {{"said", "1.1"}}}, {"1.2", {{"said", "1.2"}}}}));
  EXPECT_EQ(output["failed"], Json::array());
  EXPECT_EQ(output["plan"]["nodes"]["1.2"]["name"], "tell");
  EXPECT_EQ(statuses(planner.state(run)), (Names{"1 succeeded", "1.1 succeeded", "1.2 succeeded"}));
  EXPECT_EQ(planner.events(run, "plan_created").size(), 1U);
}

TEST(PlanAndDo, tasks_run_side_by_side_where_nothing_orders_them_and_in_order_where_it_does) {
  // "c" comes after the whole of 1; the parts of 1 are free of one another.
  PlannerRun planner(saying({{{"1", {{child("a"), child("b")}}}, {"2", {{child("c")}}}}, {}}), usual_tools());
  const Json plan = {{"roots", {"1", "2"}},
                     {"nodes", {{"1", {{"name", "first"}}}, {"2", {{"name", "then"}, {"dependencies", {"1"}}}}}}};
  const RunId run = planner.run("plan_and_do", {{"plan", plan}, {"tools", all_tools}});
  const std::vector<Json> opened = planner.events(run, "sub_goal_opened");
  const std::vector<Json> closed = planner.events(run, "sub_goal_closed");
  EXPECT_EQ(ids_of(opened, "sub_goal"), (Names{"1.1!1", "1.2!1", "2.1!1"}));
  ASSERT_EQ(closed.size(), 3U);
  EXPECT_LT(opened[1]["seq"], closed[0]["seq"]) << "both are open before one is done";
  EXPECT_GT(opened[2]["seq"], closed[1]["seq"]);
  EXPECT_EQ(opened[0]["parent"], "1.1");
}

TEST(PlanAndDo, a_task_gets_the_results_of_those_before_it_whole_and_by_reference) {
  Lines lines{{{"1", {{child("read"), child("count", {"1.1"})}}}},
              {{"1.1", {use("read")}}, {"1.2", {use("echo", {{"text", {{"from_task", "1.1"}, {"slot", "text"}}}})}}}};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run = planner.run("plan_and_do", goal());
  EXPECT_EQ(results(planner.output(run))["1.2"], (Json{{"text", "abc"}}));
  const std::vector<Json> opened = planner.events(run, "sub_goal_opened");
  EXPECT_EQ(opened[1]["inputs"]["text"], (Json{{"from_sub_goal", "1.1!1"}, {"slot", "text"}}));
  EXPECT_EQ(opened[1]["after"], (Json{"1.1!1"}));
  const Json asked = asked_about(planner, binding_schema, "1.2");
  EXPECT_EQ(asked["comes_after"], (Json{{{"id", "1.1"}, {"name", "read"}, {"results", {{"text", "abc"}}}}}));
  EXPECT_EQ(asked["progress"]["verified_state"], (Json{{"1.1", {{"text", "abc"}}}}));
}

// --- as needed: what fails is broken down again ----------------------------------------------------------------------
TEST(PlanAndDo, a_task_that_fails_is_broken_down_again_and_the_run_ends_done) {
  Lines lines{{{"1", {{child("look"), child("send"), child("report", {"1.2"})}}},
               {"1.2", {{child("mend"), child("send again", {"1.2.1"})}}}},
              {{"1.1", {use("read")}}, {"1.2", {use("broken", {{"to", "Ann"}})}}}};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run = planner.run("plan_and_do", goal());
  EXPECT_EQ(planner.state(run).status, RunStatus::done) << planner.state(run).reason;
  EXPECT_EQ(ids_of(planner.events(run, "sub_goal_opened"), "sub_goal"),
            (Names{"1.1!1", "1.2!1", "1.2.1!1", "1.2.2!1", "1.3!1"}))
      << "what came after it waits for its parts";
  const std::vector<Json> decided = planner.events(run, "replan_decided");
  ASSERT_EQ(decided.size(), 1U);
  EXPECT_EQ(decided[0]["action"], "decompose");
  EXPECT_EQ(decided[0]["target"], "1.2");
  EXPECT_EQ(decided[0]["reason"], "The wire is cut.");
  EXPECT_EQ(statuses(planner.state(run)), (Names{"1 succeeded", "1.1 succeeded", "1.2 succeeded", "1.2.1 succeeded",
                                                 "1.2.2 succeeded", "1.3 succeeded"}));
}

TEST(PlanAndDo, the_prompt_of_a_new_plan_has_the_verified_state_and_what_was_done_and_not_the_error_alone) {
  Lines lines{{{"1", {{child("look"), child("send")}}}, {"1.2", {{child("mend")}}}},
              {{"1.1", {use("read")}}, {"1.2", {use("broken", {{"to", "Ann"}})}}}};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run = planner.run("plan_and_do", goal());
  const Json first = asked_about(planner, decomposition_schema, "1");
  EXPECT_FALSE(first.contains("progress"));
  const Json again = asked_about(planner, decomposition_schema, "1.2");
  EXPECT_EQ(again["progress"]["verified_state"], (Json{{"1.1", {{"text", "abc"}}}}));
  EXPECT_EQ(again["progress"]["done"], (Json{{{"id", "1.1"}, {"name", "look"}, {"tool", "read"}}}));
  EXPECT_EQ(again["progress"]["failed"], (Json{{{"id", "1.2"},
                                                {"name", "send"},
                                                {"tool", "broken"},
                                                {"inputs", {{"to", "Ann"}}},
                                                {"attempts", 1},
                                                {"reason", "The wire is cut."}}}));
  const Json bound = asked_about(planner, binding_schema, "1.2.1");
  EXPECT_EQ(bound["progress"]["failed"], again["progress"]["failed"]) << "a failure stays known to its parts";
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
}

TEST(PlanAndDo, a_task_that_cannot_be_broken_down_ends_the_run_in_part_and_blocks_what_comes_after_it) {
  Lines lines{{{"1", {{child("look"), child("send"), child("report", {"1.2"})}}}}, {{"1.2", {use("broken")}}}};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run = planner.run("plan_and_do", goal());
  EXPECT_EQ(planner.state(run).status, RunStatus::failed);
  const Json output = planner.output(run);
  EXPECT_EQ(output["outcome"], "partial");
  EXPECT_EQ(output["failed"], (Json{"1.2"}));
  EXPECT_EQ(results(output), (Json{{"1.1", {{"said", "1.1"}}},
                                   {"1.2", "failed: The wire is cut. It could not be broken down further."},
                                   {"1.3", "blocked"}}));
  EXPECT_EQ(planner.state(run).reason,
            "1 of 3 tasks are done. Task 1.2 failed: The wire is cut. It could not be broken down further.");
  EXPECT_EQ(statuses(planner.state(run)), (Names{"1 failed", "1.1 succeeded", "1.2 failed", "1.3 planned"}));
}

TEST(PlanAndDo, the_depth_to_which_failed_tasks_are_broken_down_is_bounded) {
  Lines lines{{{"1", {{child("look"), child("send")}}}, {"1.2", {{child("deeper")}}}, {"1.2.1", {{child("deepest")}}}},
              {{"1.2", {use("broken")}}, {"1.2.1", {use("broken")}}}};
  for (const int depth : {1, 2, 3}) {
    PlannerRun planner(saying(lines), usual_tools());
    const RunId run = planner.run("plan_and_do", goal({{"redo_depth", depth}}));
    const Json output = planner.output(run);
    EXPECT_EQ(output["outcome"], depth == 3 ? "done" : "partial");
    const std::string last = depth == 1 ? "1.2" : "1.2.1";
    if (depth < 3) {
      EXPECT_EQ(results(output)[last],
                "failed: The wire is cut. It is as deep as a task may be broken down again (redo_depth).");
    }
  }
}

TEST(PlanAndDo, how_many_tasks_are_broken_down_again_is_bounded_and_on_record) {
  Lines lines{{{"1", {{child("a"), child("b"), child("c")}}}, {"1.1", {{child("new")}}}, {"1.2", {{child("new")}}}},
              {{"1.1", {use("broken")}}, {"1.2", {use("broken")}}}};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run = planner.run("plan_and_do", goal({{"max_redos", 1}}));
  EXPECT_EQ(planner.output(run)["outcome"], "partial");
  EXPECT_EQ(planner.output(run)["failed"], (Json{"1.2"}));
  const std::vector<Json> exhausted = planner.events(run, "budget_exhausted");
  ASSERT_EQ(exhausted.size(), 1U);
  EXPECT_EQ(exhausted[0]["name"], "redos");
  EXPECT_EQ(exhausted[0]["used"], 1);
}

TEST(PlanAndDo, the_budget_of_new_tasks_holds_over_the_whole_run) {
  Lines lines{{{"1", {{child("a"), child("b")}}}, {"1.2", {{child("c"), child("d")}}}}, {{"1.2", {use("broken")}}}};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run = planner.run("plan_and_do", goal({{"options", {{"total_node_budget", 2}}}}));
  EXPECT_EQ(planner.output(run)["outcome"], "partial");
  EXPECT_EQ(planner.output(run)["plan"]["nodes"].size(), 3U);
  EXPECT_EQ(results(planner.output(run))["1.2"],
            "failed: The wire is cut. It was not broken down further: the budget of new tasks is used up.");
}

TEST(PlanAndDo, with_a_depth_of_nothing_only_what_fails_is_broken_down) {
  PlannerRun planner(saying({{{"1", {{child("a"), child("b")}}}}, {{"1", {use("broken")}}}}), usual_tools());
  const RunId run = planner.run("plan_and_do", goal({{"options", {{"max_depth", 0}}}}));
  EXPECT_EQ(planner.output(run)["outcome"], "done");
  EXPECT_EQ(ids_of(planner.events(run, "sub_goal_opened"), "sub_goal"), (Names{"1!1", "1.1!1", "1.2!1"}));
  PlannerRun whole(saying({}), usual_tools());
  EXPECT_EQ(results(whole.output(whole.run("plan_and_do", goal({{"options", {{"max_depth", 0}}}})))),
            (Json{{"1", {{"said", "1"}}}}));
}

TEST(PlanAndDo, a_tool_that_fails_for_a_while_is_called_again_before_the_task_has_failed) {
  PlannerRun planner(saying({{{"1", {{child("a")}}}}, {{"1.1", {use("fail", {{"message", "busy"}, {"times", 1}})}}}}),
                     usual_tools());
  const RunId run = planner.run("plan_and_do", goal());
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_TRUE(planner.events(run, "replan_decided").empty());
}

TEST(PlanAndDo, what_a_prompt_shows_of_results_is_bounded_and_a_long_one_can_still_be_passed_on) {
  for (const std::size_t bytes : {20'000U, 100'000U}) {  // in its event, and stored out of line
    const std::string text(bytes, 'x');
    std::vector<ToolSpec> specs;
    specs.push_back(tool("long", Json{{"text", text}}));
    specs.push_back(tool("broken", Failure{"error", "The wire is cut.", false, {}}));
    Lines lines{{{"1", {Json::array()}}}, {}};
    std::vector<Json> parts;
    for (int i = 1; i <= 12; ++i) {
      parts.push_back(child("t" + std::to_string(i)));
      lines.bindings["1." + std::to_string(i)] = {use("long")};
    }
    parts.push_back(child("send"));
    lines.parts["1"] = {parts};
    lines.parts["1.13"] = {{child("pass on")}};
    lines.bindings["1.13"] = {use("broken")};
    lines.bindings["1.13.1"] = {use("echo", {{"it", {{"from_task", "1.12"}, {"slot", "text"}}}})};
    PlannerRun planner(saying(lines), builtin_and(std::move(specs)));
    const RunId run =
        planner.run("plan_and_do", goal({{"tools", {"long", "broken", "echo"}}, {"options", {{"max_children", 20}}}}));
    EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
    const Json progress = asked_about(planner, decomposition_schema, "1.13")["progress"];
    EXPECT_LE(canonical(progress).size(), 12'500U);
    EXPECT_EQ(progress["failed"].size(), 1U);
    const Json shown = progress["verified_state"]["1.12"];
    EXPECT_EQ(shown["from_task"], "1.12");
    EXPECT_EQ(shown["slots"], (Json{"text"}));
    EXPECT_GT(shown["bytes"], bytes);
    EXPECT_EQ(planner.client().expand_blobs(results(planner.output(run))["1.13.1"], 0), (Json{{"it", text}}));
  }
}

// --- binding ---------------------------------------------------------------------------------------------------------
const Json counting = {{"type", "function"},
                       {"function",
                        {{"name", "echo"},
                         {"description", "Repeats a number."},
                         {"parameters",
                          {{"type", "object"},
                           {"properties", {{"n", {{"type", "integer"}}}}},
                           {"required", {"n"}},
                           {"additionalProperties", false}}}}}};

TEST(PlanAndDo, a_choice_that_cannot_be_is_told_to_the_next_attempt) {
  ToolFacts needs;
  needs.needs = {"key"};
  const std::vector<std::pair<Json, std::string>> cases = {
      {use("nobody"), "Expected one of the tools, but there is no \"nobody\"."},
      {use("echo", {{"n", "many"}}), "integer"},
      {use("echo", {{"n", 1}, {"m", 2}}), "m"},
      {use("open"), "Expected the inputs of open to have key, but they have not."},
      {use("echo", {{"n", {{"from_task", "9"}, {"slot", "n"}}}}),
       "Expected \"from_task\" and \"slot\" to name a result that is there"},
      {with_task_id(use("echo", {{"n", 1}}), "7"), "Expected the reply to be for task 1, but it is for \"7\"."}};
  for (const auto& [wrong, says] : cases) {
    std::vector<ToolSpec> specs;
    specs.push_back(tool("open", Json::object(), needs));
    PlannerRun planner(saying({{}, {{"1", {wrong, use("echo", {{"n", 1}})}}}}), builtin_and(std::move(specs)));
    const RunId run = planner.run("plan_and_do", goal({{"tools", {counting, "open"}}}));
    EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
    const Json again = asked_about(planner, binding_schema, "1");
    EXPECT_TRUE(has(again.value("last_attempt_failed", ""), says)) << again.value("last_attempt_failed", "") << wrong;
  }
}

TEST(PlanAndDo, tools_are_shown_with_what_they_say_of_themselves) {
  ToolFacts facts;
  facts.about = "Counts words.";
  facts.needs = {"text"};
  facts.gives = {"words"};
  std::vector<ToolSpec> specs;
  specs.push_back(tool("count", Json{{"words", 1}}, facts));
  PlannerRun planner(saying({{}, {{"1", {use("count", {{"text", "a"}})}}}}), builtin_and(std::move(specs)));
  const RunId run = planner.run("plan_and_do", {{"goal", "Count"}});
  EXPECT_EQ(planner.output(run)["outcome"], "done") << planner.state(run).reason;
  EXPECT_EQ(asked_about(planner, binding_schema, "1")["tools"],
            (Json{{"count", {{"does", "Counts words."}, {"needs", {"text"}}, {"gives", {"words"}}}}}))
      << "without a list those that say what they do";
  PlannerRun listed(saying({{}, {{"1", {use("echo", {{"n", 1}})}}}}));
  listed.run("plan_and_do", goal({{"tools", {counting}}}));
  const Json shown = asked_about(listed, binding_schema, "1")["tools"];
  EXPECT_EQ(shown["echo"]["does"], "Repeats a number.");
  EXPECT_EQ(shown["echo"]["inputs"], counting["function"]["parameters"]);
}

TEST(PlanAndDo, a_tool_that_the_worker_does_not_have_is_said_so) {
  PlannerRun planner(saying({}));
  const RunId run = planner.run("plan_and_do", goal({{"tools", {"nothing_of_the_kind"}}}));
  EXPECT_EQ(planner.output(run)["outcome"], "failed");
  EXPECT_TRUE(
      has(planner.state(run).reason, "Expected a tool that this worker has, but there is no \"nothing_of_the_kind\"."))
      << planner.state(run).reason;
}

// --- a task that no tool fits ----------------------------------------------------------------------------------------
TEST(PlanAndDo, a_task_that_no_tool_fits_is_broken_down_unless_it_shall_fail) {
  Lines lines{{{"1", {{child("a"), child("b")}}}, {"1.2", {{child("c")}}}}, {{"1.2", {no_tool}}}};
  PlannerRun planner(saying(lines), usual_tools());
  const RunId run = planner.run("plan_and_do", goal());
  EXPECT_EQ(planner.output(run)["outcome"], "done");
  EXPECT_EQ(asked_about(planner, decomposition_schema, "1.2")["progress"]["failed"],
            (Json{{{"id", "1.2"}, {"name", "b"}, {"reason", "So it is."}}}));
  PlannerRun strict(saying(lines), usual_tools());
  const RunId failing = strict.run("plan_and_do", goal({{"no_tool", "fail"}}));
  EXPECT_EQ(strict.output(failing)["outcome"], "partial");
  EXPECT_EQ(results(strict.output(failing))["1.2"], "failed: So it is.");
}

TEST(PlanAndDo, a_person_is_asked_about_a_task_that_no_tool_fits) {
  const std::vector<std::pair<Json, Json>> cases = {{{{"outputs", {{"painted", true}}}}, {{"painted", true}}},
                                                    {use("echo", {{"n", 5}}), {{"n", 5}}},
                                                    {{{"give_up", "No paint."}}, "failed: No paint."},
                                                    {use("ghost"), "failed: "}};
  for (const auto& [said, result] : cases) {
    Lines lines{{{"1", {{child("a"), child("paint"), child("c", {"1.2"})}}}}, {{"1.2", {no_tool}}}};
    if (result.contains("painted")) {
      lines.bindings["1.3"] = {use("echo", {{"is", {{"from_task", "1.2"}, {"slot", "painted"}}}})};
    }
    PlannerRun planner(saying(lines), usual_tools());
    const RunId run = planner.run("plan_and_do", goal({{"no_tool", "ask"}}));
    const Json prompt = open_prompt(planner, run);
    EXPECT_EQ(prompt["task"]["name"], "paint");
    EXPECT_EQ(prompt["reason"], "So it is.");
    answer(planner, run, said);
    const Json output = planner.output(run);
    EXPECT_EQ(output["outcome"], result.is_string() ? "partial" : "done") << planner.state(run).reason;
    const Json came = results(output)["1.2"];
    if (result == "failed: ")
      EXPECT_TRUE(has(came, "there is no tool ghost")) << came;
    else
      EXPECT_EQ(came, result);
    if (result.is_object() && result.contains("painted")) {
      EXPECT_EQ(results(output)["1.3"], (Json{{"is", true}})) << "a value a person gave";
      EXPECT_EQ(output["tasks"][1]["by"], "person");
    }
  }
}

TEST(PlanAndDo, a_field_that_is_none_of_its_input_is_refused_at_the_start) {
  PlannerRun planner(saying({}));
  for (const char* field : {"reveiw", "is_reviewed", "by_hand", "queue"})
    EXPECT_THROW(planner.start("plan_and_do", goal({{field, true}})), std::runtime_error) << field;
}

// --- settings --------------------------------------------------------------------------------------------------------
TEST(PlanAndDo, settings_that_cannot_be_are_refused_with_a_sentence) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"review", "yes"}}, "Expected review to be true or false, but it is \"yes\"."},
      {{{"no_tool", "guess"}}, "Expected no_tool to be decompose, ask or fail, but it is \"guess\"."},
      {{{"redo_depth", -1}}, "Expected redo_depth to be a whole number from 0 to 50, but it is -1."},
      {{{"max_redos", 2.5}}, "Expected max_redos to be a whole number from 0 to 1000, but it is 2.5."},
      {{{"options", {{"max_dept", 3}}}}, "there is none of the name max_dept"},
      {{{"tools", "echo"}}, "Expected the tools to be a list, but they are \"echo\"."},
      {{{"plan", {{"roots", Json::array()}, {"nodes", Json::object()}}}},
       "Expected a plan with tasks, but it has none."}};
  for (const auto& [more, says] : cases) {
    PlannerRun planner(saying({}));
    const RunId run = planner.run("plan_and_do", goal(more));
    EXPECT_EQ(planner.state(run).status, RunStatus::failed);
    EXPECT_TRUE(has(planner.state(run).reason, says)) << planner.state(run).reason;
  }
}

}  // namespace
}  // namespace cairn::test::doing
