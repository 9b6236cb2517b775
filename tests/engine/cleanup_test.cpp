// A run that ends otherwise than done: its limit of time, and its cleanup ("finally").
#include "engine/closing_events.hpp"
#include "engine/graph_check.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

constexpr TimeUs ms = 1'000;

// Books, waits for a signal, and cancels the booking however the run ends but well.
const char* const trip = R"({"name":"t","start":"book","finally":"undo","limits":{"steps":5,"ms":60000},"nodes":{
  "book":{"do":"x.book","labels":["ok"],"on":{"ok":"paid"}},
  "paid":{"wait":{"signal":"paid"},"on":{"fired":"z"}},
  "undo":{"do":"x.undo","labels":["ok"],"with":{"id":{"$":"booking","default":null},"why":"{{error/error}}: {{error/message}}"},
          "on":{"ok":"gone"}},
  "gone":{"end":"done"},
  "z":{"end":"done"}}})";

Trial booked(const char* graph = trip) {
  Trial trial(graph);
  trial.start();
  trial.complete(1, "ok", R"({"booking":7})");
  return trial;
}

// --- the limit of time
// ------------------------------------------------------------------------------------------------

const char* const timed = R"({"name":"t","start":"a","limits":{"steps":9,"ms":1000},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

TEST(TimeOfRun, its_timer_is_a_job_of_the_whole_run) {
  Trial trial(timed);
  trial.start();
  const Job& job = trial.queue.at(whole_run);
  EXPECT_EQ(job.queue, timer_queue);
  EXPECT_EQ(job.run_at_us, trial.now_us + 1000 * ms);
  trial.then(Pause{});
  EXPECT_EQ(trial.queue.at(whole_run).run_at_us, never_us);
  trial.then(Resume{});
  trial.complete(1, "ok");
  EXPECT_TRUE(trial.queue.empty());
}

TEST(TimeOfRun, a_run_that_exceeds_it_fails_and_says_so) {
  Trial trial(timed);
  trial.start();
  EXPECT_EQ(trial.refused(Due{0}).code, Code::invalid) << "too early";
  trial.now_us += 1000 * ms;
  EXPECT_EQ(trial.then(Due{0}),
            (Lines{"timer_fired",
                   "run_finished failed (timeout: Expected the run to end within 1000 ms, but it has not.) {}"}));
  EXPECT_TRUE(is_limit_reason(trial.state.reason));
  EXPECT_EQ(trial.refused(Due{0}).code, Code::closed);
}

TEST(TimeOfRun, a_run_without_one_has_no_timer) {
  Trial trial(replaced(timed, R"(,"ms":1000)", ""));
  trial.start();
  EXPECT_FALSE(trial.queue.contains(whole_run));
  EXPECT_EQ(trial.refused(Due{0}).code, Code::invalid);
}

TEST(TimeOfRun, counts_anew_when_the_run_is_tried_again) {
  Trial trial(timed);
  trial.start();
  trial.now_us += 1000 * ms;
  trial.then(Due{0});
  trial.now_us += 5000 * ms;
  EXPECT_EQ(trial.then(Reopen{}), (Lines{"run_reopened"}));
  EXPECT_EQ(trial.queue.at(whole_run).run_at_us, trial.now_us + 1000 * ms);
  EXPECT_EQ(trial.complete(1, "ok").back(), "run_finished done {}");
}

TEST(TimeOfRun, follows_the_graph_that_the_run_is_moved_to) {
  Trial trial(timed);
  trial.start();
  trial.graphs.add(version_of(replaced(timed, "1000", "5000"), "v2"), false);
  trial.then(MoveRun{"v2"});
  EXPECT_EQ(trial.queue.at(whole_run).run_at_us, trial.now_us + 5000 * ms);
  trial.graphs.add(version_of(replaced(timed, R"(,"ms":1000)", ""), "v3"), false);
  trial.then(MoveRun{"v3"});
  EXPECT_FALSE(trial.queue.contains(whole_run));
}

// --- the cleanup
// ------------------------------------------------------------------------------------------------------

TEST(Cleanup, a_run_that_ends_well_has_none) {
  Trial trial = booked();
  EXPECT_EQ(trial.then(SendSignal{"paid", 1, ""}).back(), R"(run_finished done {"booking":7})");
}

TEST(Cleanup, a_cancelled_run_cleans_up_and_ends_as_aborted) {
  Trial trial = booked();
  EXPECT_EQ(trial.then(Cancel{"Ann is ill."}), (Lines{"run_ending aborted (Ann is ill.) -> undo"}));
  EXPECT_EQ(trial.state.status, RunStatus::running);
  EXPECT_EQ(trial.state.reason, "Ann is ill.");
  EXPECT_EQ(trial.with_of(3), (Json{{"id", 7}, {"why", "aborted: Ann is ill."}}));
  EXPECT_EQ(trial.refused(SendSignal{"", 1, ""}).code, Code::invalid) << "the wait is closed, signals are still taken";
  EXPECT_EQ(trial.complete(3, "ok").back(), "run_finished aborted (Ann is ill.) {}");
  EXPECT_EQ(trial.state.reason, "Ann is ill.");
}

TEST(Cleanup, a_failed_step_is_the_cause_that_the_cleanup_reads) {
  Trial trial(trip);
  trial.start();
  EXPECT_EQ(trial.fail(1, "full"), (Lines{"1 step_failed book attempt 1 full for good",
                                          "1 run_ending failed (Step 1 (book) failed: full: it broke) -> undo"}));
  EXPECT_EQ(trial.with_of(2), (Json{{"id", nullptr}, {"why", "full: it broke"}}));
  EXPECT_EQ(trial.complete(2, "ok").back(), "run_finished failed (Step 1 (book) failed: full: it broke) {}");
  EXPECT_EQ(trial.state.cause->node, "book");
  EXPECT_EQ(trial.refused(Reopen{}).code, Code::conflict) << "what was undone cannot go on";
}

TEST(Cleanup, an_end_that_is_not_done_has_it_too) {
  Trial trial(
      replaced(trip, R"("z":{"end":"done"})", R"("z":{"end":{"status":"failed","reason":"No.","output":{"a":1}}})"));
  trial.start();
  trial.complete(1, "ok");
  EXPECT_EQ(trial.then(SendSignal{"paid", 1, ""}).back(), "run_ending failed (No.) -> undo");
  EXPECT_EQ(trial.complete(3, "ok").back(), R"(run_finished failed (No.) {"a":1})") << "the output it was to give";
}

TEST(Cleanup, its_end_may_give_an_output_of_its_own) {
  Trial trial = booked(
      replaced(trip, R"("gone":{"end":"done"})", R"("gone":{"end":{"status":"done","output":{"undone":"$booking"}}})")
          .c_str());
  trial.then(Cancel{"Ill."});
  EXPECT_EQ(trial.complete(3, "ok").back(), R"(run_finished aborted (Ill.) {"undone":7})");
}

TEST(Cleanup, a_run_whose_time_is_over_has_as_long_again_for_it) {
  Trial trial = booked();
  trial.now_us += 60'000 * ms;
  EXPECT_EQ(trial.then(Due{0}).back().substr(0, 27), "run_ending failed (timeout:");
  EXPECT_EQ(trial.with_of(3)["why"].get<std::string>().substr(0, 8), "timeout:");
  EXPECT_EQ(trial.queue.at(whole_run).run_at_us, trial.now_us + 60'000 * ms);
  trial.now_us += 60'000 * ms;
  trial.then(Due{0});
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_NE(trial.state.reason.find("The cleanup failed: timeout: "), std::string::npos) << trial.state.reason;
  EXPECT_TRUE(is_limit_reason(trial.state.reason));
}

TEST(Cleanup, one_that_fails_fails_the_run_and_can_be_tried_again) {
  Trial trial = booked();
  trial.then(Cancel{"Ill."});
  EXPECT_EQ(trial.fail(3, "down").back(),
            "3 run_finished failed (Ill. The cleanup failed: Step 3 (undo) failed: down: it broke) {}");
  EXPECT_EQ(trial.then(Reopen{}), (Lines{"run_reopened"}));
  EXPECT_EQ(trial.state.reason, "Ill.");
  EXPECT_EQ(trial.complete(3, "ok").back(), "run_finished aborted (Ill.) {}");
}

TEST(Cleanup, a_second_cancel_does_not_wait_for_it) {
  Trial trial = booked();
  trial.then(Cancel{"Ill."});
  EXPECT_EQ(trial.then(Cancel{"At once."}), (Lines{"run_finished aborted (At once.) {}"}));
  EXPECT_TRUE(trial.queue.empty());
}

// The sweeps of several workers cancel a run whose caller has ended, each as often as it finds it.
TEST(Cleanup, a_second_cancel_that_spares_it_is_refused) {
  Trial trial = booked();
  const Cancel orphaned{.reason = "Its caller has ended.", .spares_cleanup = true};
  EXPECT_EQ(trial.then(orphaned), (Lines{"run_ending aborted (Its caller has ended.) -> undo"}));
  EXPECT_EQ(trial.refused(orphaned).code, Code::conflict);
  EXPECT_EQ(trial.complete(3, "ok").back(), "run_finished aborted (Its caller has ended.) {}");
}

TEST(Cleanup, always_has_a_reason) {
  Trial trial = booked();
  EXPECT_EQ(trial.then(Cancel{""}), (Lines{"run_ending aborted (Ended as aborted.) -> undo"}));
}

TEST(Cleanup, a_cancel_may_leave_it_out) {
  Trial trial = booked();
  EXPECT_EQ(trial.then(Cancel{"Reset.", true}), (Lines{"run_finished aborted (Reset.) {}"}));
}

TEST(Cleanup, a_paused_run_that_is_cancelled_cleans_up) {
  Trial trial = booked();
  trial.then(Pause{});
  trial.then(Cancel{"Ill."});
  EXPECT_EQ(trial.state.status, RunStatus::running);
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, trial.now_us);
}

TEST(Cleanup, its_steps_are_counted_anew) {
  Trial trial(replaced(trip, R"("steps":5)", R"("steps":1)"));
  trial.start();
  EXPECT_EQ(trial.complete(1, "ok", R"({"booking":7})").back(),
            "2 run_ending failed (Expected at most 1 steps, but another opened.) -> undo");
  EXPECT_EQ(trial.complete(3, "ok").back(), "run_finished failed (Expected at most 1 steps, but another opened.) {}");
}

const char* const side_by_side = R"({"name":"t","start":"f","finally":"undo","limits":{"steps":99},
  "channels":{"made":{"reducer":"append"}},"nodes":{
  "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b","c"]}},
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j"}},
  "b":{"do":"x.b","labels":["ok"],"on":{"ok":"b2"}},
  "b2":{"ask":{"kind":"question","prompt":"?"},"on":{"answered":"j","expired":"j"}},
  "c":{"map":{"over":"$list","do":"x.c","labels":["ok"],"concurrency":2,"into":"items","failures":"broken"},
       "on":{"joined":"j","error":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},
  "undo":{"do":"x.undo","labels":["ok"],"on":{"ok":"z"}},
  "z":{"end":"done"}}})";

TEST(Cleanup, sees_what_every_branch_had_made_in_the_order_of_the_edge) {
  Trial trial(side_by_side);
  trial.start(R"({"list":[1,2,3]})");
  trial.complete(1, "ok", R"({"made":["f"]})");
  trial.complete(3, "ok", R"({"made":["b"]})");
  trial.complete(2, "ok", R"({"made":["a"]})");
  trial.complete(6, "ok", R"({"n":2})");
  trial.fail(5, "broken");
  trial.then(Cancel{""});
  const Json data = read_channels(trial.state, root_branch);
  EXPECT_EQ(data["made"], (Json{"f", "a", "b"}));
  EXPECT_EQ(data["items"], (Json{nullptr, {{"n", 2}}, nullptr})) << "what each item of an open map has left";
  EXPECT_EQ(data["broken"][0]["index"], 0);
  EXPECT_EQ(trial.state.branches.size(), 1U);
  EXPECT_TRUE(trial.state.questions.empty());
  EXPECT_EQ(trial.queue.size(), 1U);
  const auto& ending = std::get<RunEnding>(trial.history.back().body);
  EXPECT_EQ(ending.closed.questions.size(), 1U);
  EXPECT_EQ(trial.refused(FailStep{7, 1, {"error", "", true, {}}, 1, 0}).code, Code::closed);
}

TEST(Cleanup, does_not_go_on_with_the_work_that_was_planned) {
  Trial trial(R"({"name":"t","start":"p","finally":"u","limits":{"steps":99},"nodes":{
    "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},
    "m":{"map":"sub_goals","on":{"joined":"z"}},
    "u":{"do":"x.u","labels":["ok"],"on":{"ok":"um"}},
    "um":{"map":"sub_goals","on":{"joined":"z"}},
    "z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("one"), sub_goal("two", "echo", {"one"})});
  trial.then(Cancel{""});
  for (const SubGoal& goal : trial.state.branches.at(root_branch).plan.goals)
    EXPECT_EQ(goal.status, GoalStatus::skipped) << goal.id;
  const StepId undo = trial.state.last_step;
  trial.complete(undo, "ok", "{}", {sub_goal("three")});
  EXPECT_EQ(trial.queue.size(), 1U) << "the one that the cleanup planned itself";
}

TEST(Cleanup, gives_up_the_runs_that_were_called) {
  Trial trial(R"({"name":"t","start":"c","finally":"u","limits":{"steps":99},"nodes":{
    "c":{"call":"kid","on":{"done":"z","failed":"z"}},
    "u":{"call":"kid","on":{"done":"z","failed":"z"}},
    "z":{"end":"done"}}})");
  trial.add_graph(R"({"name":"kid","start":"k","limits":{"steps":9},"nodes":{
    "k":{"do":"x.k","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  const RunId first = trial.state.steps.at(1).child;
  trial.then(Cancel{""});
  const auto& ending = std::get<RunEnding>(trial.history.at(trial.history.size() - 2).body);
  EXPECT_EQ(ending.closed.children, std::vector<RunId>{first});
  EXPECT_EQ(trial.refused(FinishChild{1, first, RunStatus::aborted, "", nullptr}).code, Code::closed);
  const RunId second = trial.state.steps.at(2).child;
  trial.then(FinishChild{2, second, RunStatus::done, "", nullptr});
  EXPECT_EQ(trial.state.status, RunStatus::aborted);
}

// A12: the output that a cleanup begins with was composed as well. It and each question take 30 MB.
TEST(Cleanup, A12_the_output_that_it_begins_with_counts_among_the_values_of_its_decision) {
  Json nodes = {{"a", {{"end", {{"status", "failed"}, {"output", {{"all", Json(1'000, "$x")}}}}}}},
                {"undo", {{"map", "sub_goals"}, {"on", {{"joined", Json::array()}}}}},
                {"meet", {{"map", "sub_goals"}, {"join", true}, {"on", {{"joined", "z"}}}}},
                {"z", {{"end", "done"}}}};
  for (int n = 0; n < 12; ++n) {
    const std::string name = "q" + std::to_string(n);
    nodes["undo"]["on"]["joined"].push_back(name);
    nodes[name] = {{"ask", {{"kind", "question"}, {"prompt", Json(1'000, "$x")}}},
                   {"on", {{"answered", "meet"}, {"expired", "meet"}}}};
  }
  const Json graph = {
      {"name", "t"}, {"start", "a"}, {"finally", "undo"}, {"limits", {{"steps", 100}}}, {"nodes", nodes}};
  const Trial trial(graph.dump());
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  start.input = {{"x", std::string(30'000, 'x')}};
  const Context context{.now_us = trial.now_us, .actor = "test", .id_base = plus(start.run, 1)};
  RunState state;
  const Result<Decision> decided = decide(state, start, context, trial.graphs);
  ASSERT_TRUE(decided) << decided.error().message;
  EXPECT_EQ(state.status, RunStatus::failed);
  EXPECT_NE(state.reason.find("bytes of values of one decision"), std::string::npos) << state.reason;
  const auto count = [&](auto is_one) { return std::count_if(decided->events.begin(), decided->events.end(), is_one); };
  EXPECT_EQ(count([](const Event& event) { return std::holds_alternative<RunEnding>(event.body); }), 1);
  EXPECT_EQ(count([](const Event& event) { return std::holds_alternative<QuestionAsked>(event.body); }), 8)
      << "twice 128 MiB together, the output one of nine";
}

TEST(Cleanup, a_fork_from_within_goes_on_with_it) {
  Trial trial = booked();
  trial.then(Cancel{"Ill."});
  Trial fork(trip);
  fork.state.id = plus(trial.state.id, 77);
  StartRun start;
  start.run = fork.state.id;
  start.graph = "t";
  start.forked_from = Origin{trial.state.id, trial.state.seq, "", snapshot_json(trial.state)};
  fork.now_us = trial.now_us + 100'000 * ms;
  fork.then(start);
  EXPECT_EQ(fork.queue.at(whole_run).run_at_us, fork.now_us + 60'000 * ms);
  EXPECT_EQ(fork.complete(3, "ok").back(), "run_finished aborted (Ill.) {}");
}

TEST(Cleanup, a_fork_that_left_the_record_has_none) {
  Trial trial(trip);
  trial.start();
  EXPECT_EQ(trial.fail(1, diverged_error, false).back().substr(0, 21), "1 run_finished failed");
}

// --- what the check says
// ----------------------------------------------------------------------------------------------

Lines faults_of(const std::string& graph) { return graph_faults(Json::parse(graph), {}); }

TEST(Cleanup, the_check_follows_its_edges_as_those_of_the_start) {
  EXPECT_EQ(faults_of(trip), Lines{});
  EXPECT_EQ(faults_of(replaced(trip, R"("finally":"undo")", R"("finally":"undoo")")),
            Lines{R"(Expected the graph's "finally" to be a node, but there is no "undoo" (did you mean undo?).)"});
  EXPECT_EQ(faults_of(replaced(trip, R"("finally":"undo")", R"("finally":"z")")),
            (Lines{R"(Expected the graph's "finally" to be a node that does something, but it is the end "z".)",
                   R"(Expected node "gone" to be reachable from "book", but no edge leads there.)",
                   R"(Expected node "undo" to be reachable from "book", but no edge leads there.)"}));
  EXPECT_EQ(faults_of(replaced(trip, R"("ms":60000)", R"("ms":0)")),
            Lines{"Expected the limit of milliseconds to be an integer from 1 to 1000000000000, but it is 0."});
}

}  // namespace
}  // namespace cairn
