// Section 4's rules as given/when/then: yes with the right events, no with the exact error, quiet when nothing is to
// do. Here: starts, steps and ends, channels, budgets, pauses; other rules in the files next to it.
#include "engine/closing_events.hpp"
#include "tests/engine/decide/decided_graphs.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using namespace decided;
using Lines = std::vector<std::string>;

TEST(Decide, a_run_starts_at_its_start_node_with_its_input_as_first_patch) {
  Trial trial(linear);
  EXPECT_EQ(trial.start(R"({"q":1})"), (Lines{R"(run_started t {"q":1})"}));
  EXPECT_EQ(trial.queue.at(root_branch).step, 1);
  EXPECT_EQ(read_channel(trial.state, root_branch, "q"), 1);
}

TEST(Decide, a_run_of_an_unknown_graph_is_refused) {
  Trial trial(linear);
  StartRun start;
  start.run = trial.state.id;
  start.graph = "nowhere";
  EXPECT_EQ(trial.refused(start), (Error{Code::not_found, "Expected a known graph, but there is no graph nowhere."}));
}

TEST(Decide, an_input_that_is_no_object_is_refused) {
  Trial trial(linear);
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  start.input = Json::array();
  EXPECT_EQ(trial.refused(start).code, Code::invalid);
}

TEST(Decide, a_run_starts_once) {
  Trial trial(linear);
  trial.start();
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  EXPECT_EQ(trial.refused(start).code, Code::conflict);
}

TEST(Decide, a_step_is_closed_by_one_event_that_routes) {
  Trial trial(linear);
  trial.start();
  EXPECT_EQ(trial.complete(1, "ok", R"({"x":1})"), (Lines{R"(1 step_succeeded a ok -> b {"x":1})"}));
  EXPECT_EQ(trial.complete(2, "again"), (Lines{"2 step_succeeded b again -> a"}));
  EXPECT_EQ(trial.complete(3, "ok"), (Lines{"3 step_succeeded a ok -> b"}));
  EXPECT_EQ(trial.complete(4, "ok"), (Lines{"4 step_succeeded b ok -> z", R"(run_finished done {"x":1})"}));
  EXPECT_EQ(trial.state.status, RunStatus::done);
  EXPECT_TRUE(trial.queue.empty());
}

TEST(Decide, a_double_report_is_refused_as_closed) {
  Trial trial(linear);
  trial.start();
  trial.complete(1, "ok");
  const Error error = trial.refused(CompleteStep{1, 1, {"ok", Json::object(), {}}, 7, 0, 0});
  EXPECT_EQ(error.code, Code::closed);
  EXPECT_EQ(error.message, "Expected step 1 of run " + to_string(trial.state.id) + " to be open, but it has ended.");
}

TEST(Decide, a_report_for_a_step_that_never_was_is_not_found) {
  Trial trial(linear);
  trial.start();
  EXPECT_EQ(trial.refused(CompleteStep{9, 1, {"ok", Json::object(), {}}, 7, 0, 0}).code, Code::not_found);
}

TEST(Decide, nothing_is_taken_after_the_end) {
  Trial trial(linear);
  trial.start();
  trial.then(Cancel{"enough"});
  EXPECT_EQ(trial.refused(CompleteStep{1, 1, {"ok", Json::object(), {}}, 7, 0, 0}).code, Code::closed);
  EXPECT_EQ(trial.refused(Cancel{"again"}).code, Code::closed);
  EXPECT_EQ(trial.refused(Pause{}).code, Code::closed);
  EXPECT_EQ(trial.refused(SendSignal{"s", 1, ""}).code, Code::closed);
}

TEST(Decide, the_step_beyond_the_limit_fails_the_run) {
  Trial trial(linear);
  trial.start();
  for (StepId step = 1; step < 10; step += 2) {
    trial.complete(step, "ok");
    if (step < 9) trial.complete(step + 1, "again");
  }
  EXPECT_EQ(trial.complete(10, "again"),
            (Lines{"10 step_succeeded b again -> a",
                   "11 run_finished failed (Expected at most 10 steps, but another opened.) {}"}));
  EXPECT_TRUE(is_limit_reason(trial.state.reason));
  EXPECT_FALSE(is_limit_reason("limit: Expected at most 5 bytes, but found 9."));
  EXPECT_FALSE(is_limit_reason("out of stock"));
}

TEST(Decide, an_unknown_label_is_a_failed_attempt) {
  Trial trial(linear);
  trial.start();
  EXPECT_EQ(trial.complete(1, "sideways"),
            (Lines{"1 step_failed a attempt 1 invalid for good",
                   "1 run_finished failed (Step 1 (a) failed: invalid: Expected node a to leave by one of its labels, "
                   "but the handler left by sideways.) {}"}));
}

// --- channels --------------------------------------------------------------------------------------------------------

const char* const channels = R"({"name":"t","start":"a","limits":{"steps":10},
  "channels":{"list":{"reducer":"append"},"map":{"reducer":"merge"},"sum":{"reducer":"sum"},"top":{"reducer":"max"}},
  "nodes":{"a":{"do":"x.a","labels":["ok"],"on":{"ok":"a2"}},
           "a2":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},
           "z":{"end":{"status":"done","output":{"list":"$list","first":"$list/0","gone":{"$":"list/7","default":null},"all":"$map"}}}}})";

TEST(Decide, patches_go_through_the_reducers) {
  Trial trial(channels);
  trial.start(R"({"list":[1],"map":{"a":1},"sum":1,"top":5,"plain":1})");
  trial.complete(1, "ok", R"({"list":[2,3],"map":{"b":2},"sum":2,"top":3,"plain":2})");
  EXPECT_EQ(read_channels(trial.state, root_branch),
            parse_stored(R"({"list":[1,2,3],"map":{"a":1,"b":2},"sum":3,"top":5,"plain":2})"));
  EXPECT_EQ(trial.complete(2, "ok").back(),
            R"(run_finished done {"all":{"a":1,"b":2},"first":1,"gone":null,"list":[1,2,3]})");
}

TEST(Decide, a_patch_that_does_not_fit_its_reducer_is_a_failed_attempt) {
  for (const char* patch :
       {R"({"list":1})", R"({"map":[]})", R"({"sum":"x"})", R"({"top":{}})", R"({"sum":9223372036854775807})"}) {
    Trial trial(channels);
    trial.start(R"({"sum":1})");
    EXPECT_EQ(trial.complete(1, "ok", patch).front(), "1 step_failed a attempt 1 invalid for good") << patch;
  }
}

// --- budgets ---------------------------------------------------------------------------------------------------------

const char* const budgeted = R"({"name":"t","start":"a","limits":{"steps":100},"budgets":{"tries":{"cap":2}},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"spends":"tries","retry":{"attempts":2},"on":{"ok":"b","exhausted":"z"}},
  "b":{"do":"x.b","labels":["again"],"on":{"again":"a"}},
  "z":{"end":"done"}}})";

TEST(Decide, a_budget_is_charged_once_a_visit_and_closes_the_next_by_exhausted) {
  Trial trial(budgeted);
  trial.start();
  trial.fail(1);
  trial.complete(1, "ok");
  EXPECT_EQ(trial.state.budgets.at("tries").used, 1);
  trial.complete(2, "again");
  trial.complete(3, "ok");
  EXPECT_EQ(trial.complete(4, "again"), (Lines{"4 step_succeeded b again -> a", "5 budget_exhausted tries 2/2",
                                               "5 step_succeeded a exhausted -> z", "run_finished done {}"}));
}

TEST(Decide, a_runs_options_set_the_cap) {
  Trial trial(budgeted);
  Options options;
  options.budgets["tries"] = 0;
  EXPECT_EQ(trial.start("{}", options).at(1), "1 budget_exhausted tries 0/0");
}

TEST(Decide, an_unknown_budget_in_the_options_is_refused) {
  Trial trial(budgeted);
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  start.options.budgets["gold"] = 1;
  EXPECT_EQ(trial.refused(start).code, Code::invalid);
}

// --- pause -----------------------------------------------------------------------------------------------------------

TEST(Decide, a_paused_run_records_results_and_offers_nothing) {
  Trial trial(linear);
  trial.start();
  EXPECT_EQ(trial.then(Pause{}), (Lines{"run_paused"}));
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, never_us);
  EXPECT_EQ(trial.refused(Pause{}).code, Code::conflict);
  EXPECT_EQ(trial.complete(1, "ok"), (Lines{"1 step_succeeded a ok -> b"}));
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, never_us);
  EXPECT_EQ(trial.then(Resume{}), (Lines{"run_resumed"}));
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, trial.now_us);
  EXPECT_EQ(trial.refused(Resume{}).code, Code::conflict);
}

TEST(Decide, timers_do_not_fire_in_a_paused_run) {
  Trial trial(waiting);
  trial.start();
  trial.then(Pause{});
  trial.now_us += 10 * Trial::second_us;
  EXPECT_EQ(trial.refused(Due{1}).code, Code::conflict);
}

TEST(Decide, time_never_decreases_within_a_run) {
  Trial trial(linear);
  trial.start();
  trial.now_us -= 5 * Trial::second_us;
  trial.complete(1, "ok");
  EXPECT_EQ(trial.history[1].at_us, trial.history[0].at_us);
}

// --- ends and budgets that handlers know of --------------------------------------------------------------------------

TEST(Decide, an_end_may_abort_the_run) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":{"status":"aborted","reason":"$why"}}}})");
  trial.start(R"({"why":"Enough."})");
  trial.complete(1, "ok");
  EXPECT_EQ(trial.state.status, RunStatus::aborted);
  EXPECT_EQ(trial.state.reason, "Enough.");
}

TEST(Decide, a_handler_tells_once_that_a_budget_is_used_up_and_only_when_it_is) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"budgets":{"coins":{"cap":1}},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":9},"on":{"ok":"b"}},
    "b":{"do":"x.b","labels":["ok"],"spends":"coins","on":{"ok":"c"}},
    "c":{"do":"x.c","labels":["ok"],"on":{"ok":"d"}},
    "d":{"do":"x.d","labels":["ok"],"on":{"ok":"e"}},
    "e":{"do":"x.e","labels":["ok"],"spends":"coins","on":{"ok":"z","exhausted":"z"}},"z":{"end":"done"}}})");
  trial.start();
  const Lines failed{"1 step_failed a attempt 1 invalid again"};
  EXPECT_EQ(trial.complete(1, "ok", "{}", {BudgetExhausted{"coins", 0, 0}}), failed) << "none is used";
  trial.complete(1, "ok", "{}", {BudgetExhausted{"stones", 3, 3}});
  trial.complete(2, "ok");
  trial.complete(3, "ok", "{}", {BudgetExhausted{"coins", 0, 0}, BudgetExhausted{"stones", 9, 9}});
  trial.complete(4, "ok", "{}", {BudgetExhausted{"coins", 0, 0}});
  std::vector<BudgetExhausted> told;
  for (const Event& event : trial.history)
    if (const auto* exhausted = std::get_if<BudgetExhausted>(&event.body)) told.push_back(*exhausted);
  ASSERT_EQ(told.size(), 2u) << "neither twice by handlers nor once more by the engine";
  EXPECT_EQ(told[0].name, "stones");
  EXPECT_EQ(told[0].cap, 3) << "it is no budget of the graph: its handler counts";
  EXPECT_EQ(told[1].name, "coins");
  EXPECT_EQ(told[1].cap, 1);
  EXPECT_EQ(told[1].used, 1);
  EXPECT_EQ(trial.state.status, RunStatus::done);
}

}  // namespace
}  // namespace cairn
