// The ends of planning in rounds: done, failed, partly, or without progress; and what becomes of sub-goals that fail.
#include "engine/run_json.hpp"
#include "tests/workers/planners/round_planner/round_planner_trial.hpp"

namespace cairn::test::rounds {
namespace {

// --- the end ---------------------------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_15_done_that_names_nothing_is_repaired_once) {
  Scripted scripted({understood, goes_on({goal("a", "give", {{"x", 5}})}), is_done({{"r", from("a", "rows")}}),
                     is_done({{"r", from("a", "v")}}), answers("Five.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  const std::vector<Json> rewritten = scripted->events(run, "decision_rewritten");
  ASSERT_EQ(rewritten.size(), 1U);
  EXPECT_EQ(rewritten[0]["rule"], "synthesis_inputs");
  EXPECT_TRUE(has(scripted->model().of("plan_round").at(2).messages[1]["content"], "sub-goal a left no rows"));
}

TEST(RoundPlanner, S4_15_done_that_names_nothing_twice_has_failed) {
  for (const Json& inputs : {Json::object(), Json{{"r", from("ghost", "v")}}, Json{{"r", from("f", "v")}}}) {
    Scripted scripted({understood, goes_on({goal("a", "give"), goal("f", "refuse")}), is_done(inputs), is_done(inputs),
                       is_done({{"r", from("a", "v")}}), answers("Sorry.")});
    const RunId run = scripted.run();
    EXPECT_EQ(scripted->state(run).status, RunStatus::failed) << inputs;
    EXPECT_TRUE(has(scripted->state(run).reason, "synthesis_inputs: Expected")) << scripted->state(run).reason;
    EXPECT_EQ(scripted->model().of("plan_round").size(), 3U) << "one round, one done, one repair";
  }
}

Json deliverable(Json made) {
  made["deliverable"] = true;
  return made;
}

TEST(RoundPlanner, S4_15_done_without_a_deliverable_is_repaired_once_and_then_stands_as_partial) {
  Scripted scripted({understood,
                     goes_on({deliverable(goal("a", "give", {{"x", 5}})), deliverable(goal("b", "refuse")),
                              goal("c", "refuse", {{"x", 1}})}),
                     is_done({{"r", from("a", "v")}}), is_done({{"r", from("a", "v")}}), answers("Five.")});
  const RunId run = scripted.run();
  const std::vector<Json> rewritten = scripted->events(run, "decision_rewritten");
  ASSERT_EQ(rewritten.size(), 1U);
  EXPECT_EQ(rewritten[0]["rule"], "deliverables");
  EXPECT_EQ(rewritten[0]["from"], "done");
  const std::string told = scripted->model().of("plan_round").at(2).messages[1]["content"];
  EXPECT_TRUE(has(told, "these are not: b (It is broken.).")) << told;
  EXPECT_FALSE(has(told, "c (")) << "no deliverable: " << told;
  EXPECT_EQ(scripted->model().of("plan_round").size(), 3U);
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  EXPECT_EQ(scripted->output(run)["outcome"], "partial");
}

TEST(RoundPlanner, S4_15_a_deliverable_that_a_retry_made_good_is_complete) {
  Json again = deliverable(goal("b2", "give", {{"x", 7}}));
  again["retry_of"] = "b";
  Scripted scripted({understood, goes_on({deliverable(goal("b", "refuse"))}), is_done({{"r", from("b", "v")}}),
                     goes_on({again}), is_done({{"r", from("b2", "v")}}), answers("Seven.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->events(run, "decision_rewritten").size(), 1U) << "the first done, and not the second";
  EXPECT_EQ(scripted->output(run)["outcome"], "answered");
}

TEST(RoundPlanner, S4_16_done_hands_resolved_inputs_to_the_synthesizer_and_ends) {
  Scripted scripted({understood, goes_on({goal("a", "give", {{"x", 5}})}), is_done({{"count", from("a", "v")}}),
                     answers("Five orders.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.prompt("synthesize")["results"], Json::parse(R"({"count": {"value": 5}})"));
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  EXPECT_EQ(scripted->output(run)["answer"], "Five orders.");
  EXPECT_EQ(scripted->output(run)["status"], "done");
  EXPECT_EQ(scripted->path(run).back(), "synthesize");
}

TEST(RoundPlanner, S4_17_failed_keeps_its_reason) {
  Scripted scripted(
      {understood, gives_up("Entity 'XYZ Corp' could not be resolved after 2 retries"), answers("Sorry.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::failed);
  EXPECT_EQ(scripted->state(run).reason, "Entity 'XYZ Corp' could not be resolved after 2 retries");
  EXPECT_EQ(scripted->channel(run, "planner_reasoning").back()["reasoning"], scripted->state(run).reason);
  EXPECT_EQ(scripted->channel(run, "status"), "failed");
}

TEST(RoundPlanner, S4_18_failed_is_explained_with_partial_results_or_ends_at_once) {
  Json wanted = goal("a", "give", {{"x", 5}});
  wanted["deliverable"] = true;
  const std::vector<Json> replies = {understood, goes_on({wanted}), gives_up("The rest is nowhere."),
                                     answers("Five, and no more.")};
  Scripted explained(replies);
  const RunId first = explained.run();
  EXPECT_EQ(explained->state(first).status, RunStatus::failed);
  EXPECT_EQ(explained->output(first)["answer"], "Five, and no more.");
  EXPECT_EQ(explained.prompt("synthesize")["results"]["v"]["value"], 5);
  EXPECT_EQ(explained.prompt("synthesize")["reason"], "The rest is nowhere.");
  Scripted at_once(replies);
  const RunId second = at_once.run({{"question", "How many orders?"}, {"on_failed", "end"}});
  EXPECT_EQ(at_once->state(second).status, RunStatus::failed);
  EXPECT_EQ(at_once->state(second).reason, "The rest is nowhere.");
  EXPECT_TRUE(at_once->model().of("synthesize").empty());
  EXPECT_EQ(at_once->output(second)["completed_outputs"]["a"]["v"], 5);
}

std::vector<Json> endless(int rounds) {
  std::vector<Json> replies = {understood, answers("Sorry.")};
  for (int round = 0; round < rounds; ++round)
    replies.push_back(goes_on({goal("g" + std::to_string(round), "give", {{"x", round}})}));
  return replies;
}

TEST(RoundPlanner, S4_19_after_ten_rounds_nothing_is_dispatched) {
  Scripted scripted(endless(30));
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.times(run, "join_reduce"), 10);
  const std::vector<Json> exhausted = scripted->events(run, "budget_exhausted");
  ASSERT_EQ(exhausted.size(), 1U);
  EXPECT_EQ(exhausted[0]["name"], "rounds");
  EXPECT_EQ(exhausted[0]["cap"], 10);
  EXPECT_EQ(scripted->events(run, "tool_called").size(), 10U);
  EXPECT_EQ(scripted->state(run).status, RunStatus::failed);
  EXPECT_TRUE(has(scripted->state(run).reason, "max_rounds"));
  EXPECT_EQ(scripted->channel(run, "status"), "failed");
}

TEST(RoundPlanner, S4_19_the_count_of_rounds_lives_in_the_log_whoever_goes_on) {
  Scripted scripted(endless(30));
  const RunId run = scripted->start("round_planner", {{"question", "How many orders?"}});
  int sessions = 0;
  for (; !is_ended(scripted->state(run).status) && sessions < 400; ++sessions)
    scripted->work_until(run, scripted->state(run).seq + 1);
  EXPECT_GT(sessions, 30);
  EXPECT_EQ(scripted.times(run, "join_reduce"), 10);
  EXPECT_EQ(scripted->events(run, "budget_exhausted").size(), 1U);
}

// --- failures of sub-goals -------------------------------------------------------------------------------------------
Json retry(const std::string& id, const std::string& of, const std::string& worker_name = "refuse") {
  Json again = goal(id, worker_name, {{"try", id}});
  again["retry_of"] = of;
  return again;
}

TEST(RoundPlanner, S4_20_a_failing_sub_goal_is_the_planners_to_retry_under_a_new_id) {
  Scripted scripted({understood, goes_on({goal("sb1", "refuse")}), goes_on({retry("sb2", "sb1", "give")}),
                     is_done({{"r", from("sb2", "v")}}), answers("At last.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.prompt("plan_round", 1)["failed_sub_goals"][0]["id"], "sb1");
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  EXPECT_EQ(scripted->output(run)["outcome"], "answered") << "what a retry made good is not missing";
  EXPECT_EQ(state_json(scripted->state(run))["plan"][1]["title"], "round 2, retry of sb1");
}

TEST(RoundPlanner, S4_21_a_third_retry_is_rejected) {
  Scripted scripted({understood, goes_on({goal("sb1", "refuse")}), goes_on({retry("sb2", "sb1")}),
                     goes_on({retry("sb3", "sb2")}), goes_on({retry("sb4", "sb3"), goal("other", "give")}),
                     gives_up("It stays broken."), answers("Sorry.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.reasons(run),
            (Lines{"sb4: Expected at most 2 retries of sub-goal sb1, but this would be another."}));
  EXPECT_EQ(scripted.calls.count("sb1") + scripted.calls.count("sb2") + scripted.calls.count("sb3"), 3);
  EXPECT_EQ(scripted.calls.count("sb4"), 0);
  EXPECT_EQ(scripted.calls.count("other"), 1);
}

TEST(RoundPlanner, S4_21_the_same_work_under_another_name_is_a_retry_too) {
  std::vector<Json> replies = {understood, answers("Sorry.")};
  for (const char* id : {"sb1", "sb2", "sb3", "sb4"}) replies.push_back(goes_on({goal(id, "refuse")}));
  replies.push_back(gives_up("It stays broken."));
  Scripted scripted(replies);
  const RunId run = scripted.run();
  ASSERT_EQ(scripted.reasons(run).size(), 1U);
  EXPECT_TRUE(has(scripted.reasons(run)[0], "sb4: Expected at most 2 retries")) << scripted.reasons(run)[0];
}

TEST(RoundPlanner, S4_21_what_did_not_fail_cannot_be_retried) {
  Scripted scripted({understood, goes_on({goal("a", "give"), retry("b", "a"), retry("c", "ghost")}),
                     is_done({{"r", from("a", "v")}}), answers("Good.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.reasons(run), (Lines{"b: Expected to retry a sub-goal that failed, but a is none.",
                                          "c: Expected to retry a sub-goal that failed, but ghost is none."}));
}

TEST(RoundPlanner, S4_22_partial_success_is_done_and_the_answer_names_the_missing_part) {
  Scripted scripted({understood, goes_on({goal("a", "give", {{"x", 5}}), goal("b", "refuse")}),
                     is_done({{"r", from("a", "v")}}), answers("Five.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
  const Json output = scripted->output(run);
  EXPECT_EQ(output["outcome"], "partial");
  EXPECT_EQ(output["missing"][0]["id"], "b");
  EXPECT_TRUE(has(output["answer"], "Five.") && has(output["answer"], "refuse") &&
              has(output["answer"], "It is broken"))
      << output["answer"];
  EXPECT_EQ(scripted.prompt("synthesize")["missing"][0]["worker"], "refuse");
}

// Fails for the first query, and has rows for the second.
ToolSpec query_worker() {
  return worker("es_query_exec",
                [](const ToolCall& call) -> ToolAnswer {
                  if (call.inputs.value("query", Json()) == "wrong")
                    return Failure{"error", "No such column.", false, {}};
                  return Json{{"rows", 5}};
                },
                {"rows"});
}

TEST(RoundPlanner, S4_22_a_failed_query_that_a_later_deliverable_got_round_is_not_missing) {
  for (const bool is_deliverable : {false, true}) {
    Json wrong = goal("e1", "es_query_exec", {{"query", "wrong"}});
    if (is_deliverable) wrong["deliverable"] = true;
    const Json done = is_done({{"r", from("e2", "rows")}});
    Scripted scripted(
        {understood, goes_on({wrong}), goes_on({deliverable(goal("e2", "es_query_exec", {{"query", "right"}}))}), done,
         done, answers("Five.")},
        {query_worker()});
    const RunId run = scripted.run();
    EXPECT_EQ(scripted->output(run)["outcome"], is_deliverable ? "partial" : "answered") << scripted->output(run);
    EXPECT_EQ(scripted->output(run)["missing"].size(), is_deliverable ? 1U : 0U);
  }
}

TEST(RoundPlanner, S4_22_a_deliverable_of_the_same_round_does_not_get_round_a_failure) {
  Scripted scripted({understood, goes_on({goal("b", "refuse"), deliverable(goal("a", "give", {{"x", 5}}))}),
                     is_done({{"r", from("a", "v")}}), answers("Five.")});
  EXPECT_EQ(scripted->output(scripted.run())["outcome"], "partial");
}

TEST(RoundPlanner, S4_23_the_status_is_executing_done_or_failed_and_only_the_planner_sets_it) {
  for (const bool succeeds : {true, false}) {
    Scripted scripted({understood, goes_on({goal("a", "give")}),
                       succeeds ? is_done({{"r", from("a", "v")}}) : gives_up("No."), answers("It is so.")});
    const RunId run = scripted.run();
    Lines statuses;
    for (const Json& event : scripted->events(run, "step_succeeded")) {
      if (!event["patch"].contains("status")) continue;
      EXPECT_EQ(event["node"], "plan_round");
      statuses.push_back(event["patch"]["status"]);
    }
    EXPECT_EQ(statuses, (Lines{"executing", succeeds ? "done" : "failed"}));
  }
}

TEST(RoundPlanner, S4_26_a_tone_reaches_the_planner_and_the_synthesizer) {
  Scripted scripted(
      {understood, goes_on({goal("a", "doubt")}), is_done({{"r", from("a", "v")}}), answers("One, perhaps.")});
  scripted.run();
  EXPECT_EQ(scripted.prompt("plan_round", 1)["completed_outputs"]["a"]["tone"], "uncertain");
  EXPECT_EQ(scripted.prompt("synthesize")["results"]["r"]["tone"], "uncertain");
}

TEST(RoundPlanner, S4_27_a_clarification_ends_the_run_with_a_question_and_asks_nobody) {
  PlannerRun planner(rules(), nine());
  const RunId run = planner.run("round_planner", {{"question", "What about Berlin?"}});
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
  EXPECT_EQ(planner.output(run)["outcome"], "clarification");
  EXPECT_TRUE(has(planner.output(run)["answer"], "?"));
  EXPECT_TRUE(planner.events(run, "question_asked").empty());
}

TEST(RoundPlanner, S4_27_with_the_option_the_run_waits_for_the_answer_and_goes_on) {
  PlannerRun planner(rules(), nine());
  const RunId run = planner.run("round_planner", {{"question", "What about Berlin?"}, {"clarify", "ask"}});
  ASSERT_EQ(planner.events(run, "question_asked").size(), 1U);
  EXPECT_EQ(planner.state(run).status, RunStatus::running);
  const Answer answer{"", "How many orders were there in Berlin?", "person", {}};
  ASSERT_TRUE(planner.client().command(run, answer).ok());
  planner.work(run);
  EXPECT_EQ(planner.output(run)["outcome"], "answered") << planner.output(run);
  EXPECT_TRUE(has(planner.output(run)["answer"], "shops.city is Berlin: 99.")) << planner.output(run)["answer"];
}

ToolSpec asking_worker() {
  return worker("wonder",
                [](const ToolCall& call) -> ToolAnswer {
                  return Json{{"question", {{"asks", call.inputs.value("about", Json("it"))}}}};
                },
                {"question"});
}

void say(const Scripted& scripted, const RunId& run, const std::string& said) {
  ASSERT_TRUE(scripted->client().command(run, Answer{"", said, "person", {}}).ok());
  scripted->work(run);
}

TEST(RoundPlanner, S4_27_a_second_clarification_does_not_wipe_out_the_first) {
  Scripted scripted(
      {understood, goes_on({goal("w1", "wonder", {{"about", "city"}})}), is_done({{"q", from("w1", "question")}}),
       answers("In which city?"), understood, goes_on({goal("w2", "wonder", {{"about", "month"}})}),
       is_done({{"q", from("w2", "question")}}), answers("In which month?"), understood,
       goes_on({goal("a", "give", {{"x", 5}})}), is_done({{"r", from("a", "v")}}), answers("Five.")},
      {asking_worker()});
  const RunId run = scripted.run({{"question", "How many orders?"}, {"clarify", "ask"}});
  say(scripted, run, "In Berlin.");
  say(scripted, run, "In May.");
  EXPECT_EQ(scripted->output(run)["answer"], "Five.");
  EXPECT_FALSE(scripted.prompt("understand_goal", 0).contains("clarifications"));
  EXPECT_EQ(scripted.prompt("understand_goal", 2)["clarifications"],
            Json::parse(R"([{"asked": "In which city?", "said": "In Berlin."},
                            {"asked": "In which month?", "said": "In May."}])"));
  const Json main_goal = scripted->channel(run, "main_goal");
  EXPECT_EQ(main_goal["clarification"], "In Berlin. In May.");
  EXPECT_EQ(main_goal["analysis_result"]["question"], "How many orders? In Berlin. In May.");
}

// --- rounds that lead nowhere ----------------------------------------------------------------------------------------
TEST(RoundPlanner, S4_28_a_round_without_a_valid_sub_goal_is_repaired_once) {
  const std::vector<std::vector<Json>> fruitless = {
      {}, {goal("x", "oracle")}, {goal("x", "give", {{"x", from("ghost", "v")}})}};
  for (const std::vector<Json>& goals : fruitless) {
    Scripted mended(
        {understood, goes_on(goals), goes_on({goal("a", "give")}), is_done({{"r", from("a", "v")}}), answers("Good.")});
    const RunId good = mended.run();
    EXPECT_EQ(mended->state(good).status, RunStatus::done);
    EXPECT_TRUE(has(mended->model().of("plan_round").at(1).messages[1]["content"],
                    "Expected a sub-goal that can be dispatched"));
    EXPECT_EQ(mended->output(good)["outcome"], "answered") << "what was put right is not missing";
    EXPECT_EQ(mended->output(good)["answer"], "Good.");
    Scripted stuck({understood, goes_on(goals), goes_on(goals), goes_on({goal("a", "give")}), answers("Sorry.")});
    const RunId bad = stuck.run();
    EXPECT_EQ(stuck->state(bad).status, RunStatus::failed);
    EXPECT_TRUE(has(stuck->state(bad).reason, "no_progress")) << stuck->state(bad).reason;
    EXPECT_EQ(stuck->model().of("plan_round").size(), 2U);
    EXPECT_EQ(stuck->channel(bad, "planner_reasoning").back()["action"], "failed");
  }
}

TEST(RoundPlanner, S4_28_a_repair_is_forgotten_once_there_was_progress) {
  Scripted scripted({understood, goes_on({}), goes_on({goal("a", "give")}), goes_on({}),
                     goes_on({goal("b", "give", {{"x", 2}})}), is_done({{"r", from("b", "v")}}), answers("Good.")});
  EXPECT_EQ(scripted->state(scripted.run()).status, RunStatus::done);
}

TEST(RoundPlanner, S4_29_the_same_work_is_not_done_twice) {
  Scripted scripted({understood, goes_on({goal("a", "give", {{"x", 5}})}),
                     goes_on({goal("b", "give", {{"x", from("a", "v")}}), goal("c", "give", {{"x", 6}})}),
                     is_done({{"r", from("b", "v")}}), answers("Five.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted.calls.count("a"), 1);
  EXPECT_EQ(scripted.calls.count("b"), 0) << "its resolved inputs are those of a";
  EXPECT_EQ(scripted.calls.count("c"), 1);
  for (const Json& closed : scripted->events(run, "sub_goal_closed"))
    EXPECT_EQ(closed.value("reused_from", ""), closed["sub_goal"] == "b" ? "a" : "") << closed;
  EXPECT_EQ(scripted.prompt("synthesize")["results"]["r"]["value"], 5);
}

TEST(RoundPlanner, S4_30_a_model_that_fails_is_asked_again_and_then_the_run_has_failed) {
  const Json out = fails("plan_round", true);
  Scripted recovers({understood, out, out, gives_up("There is no way."), answers("Sorry.")});
  EXPECT_EQ(recovers->state(recovers.run()).reason, "There is no way.");
  Scripted scripted({understood, goes_on({goal("a", "give")}), out, out, out, answers("Never asked.")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).status, RunStatus::failed);
  EXPECT_EQ(scripted->state(run).reason, "The step plan_round failed: The model is out.");
  EXPECT_EQ(scripted->events(run, "step_failed").size(), 3U);
  EXPECT_EQ(scripted->channel(run, "status"), "failed");
  EXPECT_TRUE(has(scripted->output(run)["answer"], "I am sorry"));
  EXPECT_TRUE(scripted->model().of("synthesize").empty()) << "the model is not asked to apologise for the model";
}

TEST(RoundPlanner, S4_30_a_goal_that_is_not_understood_fails_in_the_same_way) {
  Scripted scripted(std::vector<Json>{fails("understand_goal")});
  const RunId run = scripted.run();
  EXPECT_EQ(scripted->state(run).reason, "The step understand_goal failed: The model is out.");
  Scripted no_question({});
  EXPECT_TRUE(
      has(no_question->state(no_question.run(Json::object())).reason, "Expected the input {\"question\": TEXT}"));
}

TEST(RoundPlanner, S4_31_what_had_finished_when_the_worker_died_is_not_run_again) {
  Scripted scripted({understood,
                     goes_on({goal("a", "give"), goal("b", "give", {{"x", 2}}), goal("c", "give", {{"x", 3}})}),
                     is_done({{"r", from("c", "v")}}), answers("Three.")});
  const RunId run = scripted->start("round_planner", {{"question", "How many orders?"}});
  while (scripted->events(run, "sub_goal_closed").size() < 2) scripted->work_until(run, scripted->state(run).seq + 1);
  EXPECT_EQ(scripted->events(run, "sub_goal_closed").size(), 2U);
  scripted->work(run);
  for (const char* id : {"a", "b", "c"}) EXPECT_EQ(scripted.calls.count(id), 1) << id;
  EXPECT_EQ(scripted->state(run).status, RunStatus::done);
}

TEST(RoundPlanner, S4_32_a_pool_of_workers_runs_only_what_is_queued_for_it) {
  PlannerRun planner(rules(), nine());
  const RunId run = planner.start("round_planner", {{"question", "How many orders were there in Berlin?"}});
  const auto closed = [&] { return planner.events(run, "sub_goal_closed").size(); };
  planner.work_in(run, {"default", "data"}, [&] { return closed() == 1 && planner.state(run).steps.size() == 2; });
  planner.work_in(run, {"es"}, [&] { return closed() >= 3; });
  std::map<std::string, std::set<Json>> sessions;  // by queue
  std::map<std::string, std::string> queue_of;
  for (const Json& opened : planner.events(run, "sub_goal_opened")) queue_of[opened["sub_goal"]] = opened["queue"];
  for (const Json& event : planner.events(run, "sub_goal_closed"))
    sessions[queue_of[event["sub_goal"]]].insert(event["worker"]);
  EXPECT_EQ(closed(), 3U) << "the pool es ran what is for it and left the rest";
  EXPECT_EQ(queue_of,
            (std::map<std::string, std::string>{{"sb1", "data"}, {"sb2", "es"}, {"sb3", "es"}, {"sb4", "data"}}));
  EXPECT_EQ(sessions["es"].size(), 1U);
  EXPECT_NE(sessions["es"], sessions["data"]);
  planner.work(run);
  EXPECT_EQ(planner.state(run).status, RunStatus::done);
}

}  // namespace
}  // namespace cairn::test::rounds
