// Section 4's rules as given/when/then: yes with the right events, no with the exact error, quiet when nothing is to
// do.
#include "engine/bounds.hpp"
#include "engine/closing_events.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

const char* const linear = R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"b"}},
  "b":{"do":"x.b","labels":["ok","again"],"on":{"ok":"z","again":"a"}},
  "z":{"end":"done"}}})";

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

// --- retry and loss -------------------------------------------------------------------------------------------------

const char* const retrying = R"({"name":"t","start":"a","limits":{"steps":10},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":3,"backoff_ms":100,"factor":2,"max_ms":150,"jitter":0.5,"lost":1},
       "on":{"ok":"z","error":"sorry"}},
  "sorry":{"do":"x.s","labels":["ok"],"on":{"ok":"z"}},
  "z":{"end":"done"}}})";

TEST(Decide, a_failed_attempt_is_tried_again_after_its_delay) {
  Trial trial(retrying);
  trial.start();
  EXPECT_EQ(trial.fail(1), (Lines{"1 step_failed a attempt 1 error again"}));
  EXPECT_EQ(trial.queue.at(root_branch).attempt, 2);
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, trial.now_us + 100'000);
  trial.draw = 0.5;
  EXPECT_EQ(trial.fail(1), (Lines{"1 step_failed a attempt 2 error again"}));
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, trial.now_us + 112'500) << "150 ms less a quarter";
}

TEST(Decide, F29_a_pause_that_is_asked_for_is_kept_if_it_is_the_longer_one) {
  Trial trial(retrying);
  trial.start();
  const auto fail = [&](std::int32_t attempt, std::int64_t pause_ms) {
    Failure failure{"error", "it broke", true, {}};
    failure.pause_ms = pause_ms;
    trial.then(FailStep{1, attempt, std::move(failure), 7, trial.now_us});
    return trial.queue.at(root_branch).run_at_us - trial.now_us;
  };
  EXPECT_EQ(fail(1, 3'000), 3'000'000);
  EXPECT_EQ(fail(2, 50), 150'000) << "the node's own is longer";
  Trial other(retrying);
  other.start();
  Failure endless{"error", "it broke", true, {}};
  endless.pause_ms = std::numeric_limits<std::int64_t>::max();
  other.then(FailStep{1, 1, std::move(endless), 7, other.now_us});
  EXPECT_EQ(other.queue.at(root_branch).run_at_us, other.now_us + pause_ms_max * 1'000) << "an hour at most";
}

TEST(Decide, used_up_attempts_leave_by_error_and_tell_the_next_step_why) {
  Trial trial(retrying);
  trial.start();
  trial.fail(1);
  trial.fail(1);
  EXPECT_EQ(trial.fail(1), (Lines{"1 step_failed a attempt 3 error error -> sorry"}));
  EXPECT_EQ(trial.state.steps.at(2).given, (Json{{"node", "a"}, {"error", "error"}, {"message", "it broke"}}));
}

TEST(Decide, what_is_not_worth_a_retry_is_not_tried_again) {
  Trial trial(retrying);
  trial.start();
  EXPECT_EQ(trial.fail(1, "error", false), (Lines{"1 step_failed a attempt 1 error error -> sorry"}));
}

TEST(Decide, losses_are_counted_apart_from_errors_and_each_attempt_number_is_used_once) {
  Trial trial(retrying);
  trial.start();
  EXPECT_EQ(trial.fail(1, "lost"), (Lines{"1 step_failed a attempt 1 lost again"}));
  EXPECT_EQ(trial.fail(1), (Lines{"1 step_failed a attempt 2 error again"}));
  EXPECT_EQ(trial.fail(1), (Lines{"1 step_failed a attempt 3 error again"}));
  EXPECT_EQ(trial.fail(1, "lost"), (Lines{"1 step_failed a attempt 4 lost again"}));
  EXPECT_EQ(trial.fail(1, "lost"), (Lines{"1 step_failed a attempt 5 lost again"})) << "the first that counts";
  EXPECT_EQ(trial.fail(1, "lost"), (Lines{"1 step_failed a attempt 6 lost error -> sorry"}));
}

TEST(Decide, A10_a_lost_step_waits_longer_with_each_loss) {
  Trial trial(retrying);
  trial.start();
  trial.fail(1, "lost");
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, trial.now_us + 100'000);
  trial.draw = 0.5;
  trial.fail(1, "lost");
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, trial.now_us + 300'000) << "400 ms less a quarter";
}

TEST(Decide, A10_a_step_that_runs_alone_loses_nothing_while_it_has_not_begun) {
  Trial trial(retrying);
  trial.start();
  trial.fail(1, "lost");
  EXPECT_FALSE(runs_alone(trial.state.steps.at(1)));
  trial.fail(1, "lost");
  EXPECT_TRUE(runs_alone(trial.state.steps.at(1)));
  FailStep lost{1, 3, {lost_error, "Its worker died.", true, {}}, 7, 0};
  const Error refusal = trial.refused(lost);
  EXPECT_EQ(refusal.code, Code::conflict);
  EXPECT_EQ(refusal.message.substr(0, 25), "Expected step 1 of run 01") << refusal.message;
  EXPECT_EQ(trial.queue.at(root_branch).attempt, 3) << "the number is not used";
  lost.alone = true;
  EXPECT_EQ(trial.then(lost), (Lines{"1 step_failed a attempt 3 lost again"}));
}

TEST(Decide, A10_a_step_that_may_not_be_lost_loses_nothing_while_it_has_not_begun) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"lost":0},"on":{"ok":"z","error":"sorry"}},
    "z":{"end":"done"},"sorry":{"end":"failed"}}})");
  trial.start();
  FailStep lost{1, 1, {lost_error, "Its worker died.", true, {}}, 7, 0};
  lost.begun = false;
  const Error refusal = trial.refused(lost);
  EXPECT_EQ(refusal.code, Code::conflict);
  EXPECT_NE(refusal.message.find("which may not be lost, to have begun, but it had not."), std::string::npos)
      << refusal.message;
  lost.begun = true;
  EXPECT_EQ(trial.then(lost).at(0), "1 step_failed a attempt 1 lost error -> sorry");
}

TEST(Decide, a_late_result_of_an_earlier_attempt_is_stale) {
  Trial trial(retrying);
  trial.start();
  trial.fail(1, "lost");
  EXPECT_EQ(trial.refused(CompleteStep{1, 1, {"ok", Json::object(), {}}, 7, 0, 0}).code, Code::stale);
}

TEST(Decide, records_of_use_of_a_failed_attempt_are_kept_and_its_plans_are_not) {
  Trial trial(retrying);
  trial.start();
  Failure failure{"bad_reply", "no JSON", true, {Record{RecordKind::model_called, "{}"}, sub_goal("g")}};
  EXPECT_EQ(trial.then(FailStep{1, 1, failure, 7, 0}),
            (Lines{"1 model_called", "1 step_failed a attempt 1 bad_reply again"}));
}

TEST(Decide, a_failed_run_reopens_at_its_failed_step) {
  Trial trial(linear);
  trial.start();
  trial.fail(1);
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(trial.then(Reopen{}), (Lines{"run_reopened"}));
  EXPECT_EQ(trial.queue.at(root_branch).attempt, 1);
  EXPECT_EQ(trial.complete(1, "ok"), (Lines{"1 step_succeeded a ok -> b"}));
  EXPECT_EQ(trial.refused(Reopen{}).code, Code::conflict);
}

// --- channels -------------------------------------------------------------------------------------------------------

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

// --- fan-out and join -----------------------------------------------------------------------------------------------

const char* const forked = R"({"name":"t","start":"fork","limits":{"steps":100},
  "channels":{"trace":{"reducer":"append"}},
  "nodes":{"fork":{"do":"x.f","labels":["ok"],"on":{"ok":["left","right"]}},
    "left":{"do":"x.l","labels":["ok","more"],"on":{"ok":"meet","more":"left"}},
    "right":{"do":"x.r","labels":["ok","out"],"on":{"ok":"meet","out":"early"}},
    "meet":{"do":"x.m","join":true,"labels":["ok","redo"],"on":{"ok":"z","redo":"fork"}},
    "early":{"end":{"status":"done","reason":"early"}},
    "z":{"end":"done"}}})";

TEST(Decide, the_last_branch_opens_the_join_and_patches_apply_in_edge_order) {
  Trial trial(forked);
  trial.start();
  trial.complete(1, "ok", R"({"trace":["fork"]})");
  EXPECT_EQ(trial.complete(3, "ok", R"({"trace":["right"]})"),
            (Lines{R"(3 step_succeeded right ok -> meet {"trace":["right"]})"}));
  EXPECT_EQ(trial.queue.size(), 1u) << "the branch that arrived has no job";
  trial.complete(2, "ok", R"({"trace":["left"]})");
  EXPECT_EQ(read_channel(trial.state, root_branch, "trace"), parse_stored(R"(["fork","left","right"])"));
  EXPECT_EQ(trial.state.steps.at(4).branch, root_branch);
}

TEST(Decide, a_branch_works_on_its_own_view) {
  Trial trial(forked);
  trial.start(R"({"x":0})");
  trial.complete(1, "ok");
  trial.complete(2, "more", R"({"x":1})");
  EXPECT_EQ(read_channel(trial.state, trial.state.steps.at(4).branch, "x"), 1);
  EXPECT_EQ(read_channel(trial.state, trial.state.steps.at(3).branch, "x"), 0);
  EXPECT_EQ(read_channel(trial.state, root_branch, "x"), 0);
}

TEST(Decide, a_fan_out_may_be_entered_again_after_its_join) {
  Trial trial(forked);
  trial.start();
  trial.complete(1, "ok");
  trial.complete(2, "ok");
  trial.complete(3, "ok");
  trial.complete(4, "redo");
  trial.complete(5, "ok");
  trial.complete(7, "ok");
  trial.complete(6, "ok");
  EXPECT_EQ(trial.complete(8, "ok").back(), "run_finished done {}");
}

TEST(Decide, the_first_end_closes_the_other_branch_and_names_it) {
  Trial trial(forked);
  trial.start();
  trial.complete(1, "ok");
  EXPECT_EQ(trial.complete(3, "out").back(), "run_finished done (early) {}");
  EXPECT_EQ(std::get<RunFinished>(trial.history.back().body).closed.steps, (std::vector<StepId>{2}));
  EXPECT_TRUE(trial.queue.empty());
}

TEST(Decide, nested_fan_outs_join_inside_out) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":100},"channels":{"trace":{"reducer":"append"}},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["g","c"]}},
    "g":{"do":"x.g","labels":["ok"],"on":{"ok":["a","b"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"ab"}},"b":{"do":"x.b","labels":["ok"],"on":{"ok":"ab"}},
    "ab":{"do":"x.ab","join":true,"labels":["ok"],"on":{"ok":"abc"}},
    "c":{"do":"x.c","labels":["ok"],"on":{"ok":"abc"}},
    "abc":{"do":"x.abc","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok");
  trial.complete(3, "ok", R"({"trace":["c"]})");
  trial.complete(2, "ok", R"({"trace":["g"]})");
  trial.complete(5, "ok", R"({"trace":["b"]})");
  trial.complete(4, "ok", R"({"trace":["a"]})");
  trial.complete(6, "ok", R"({"trace":["ab"]})");
  EXPECT_EQ(trial.complete(7, "ok").back(), R"(run_finished done {"trace":["g","a","b","ab","c"]})");
}

// --- budgets --------------------------------------------------------------------------------------------------------

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

// --- ask ------------------------------------------------------------------------------------------------------------

const char* const asking = R"({"name":"t","start":"a","limits":{"steps":100},"nodes":{
  "a":{"ask":{"kind":"question","prompt":"$topic","schema":{"type":"string"}},"expires_ms":60000,"into":"reply",
       "on":{"answered":"b","expired":"z"}},
  "b":{"do":"x.b","labels":["ok"],"on":{"ok":"z"}},
  "z":{"end":"done"}}})";

TEST(Decide, a_question_waits_for_one_answer_which_the_next_step_is_given) {
  Trial trial(asking);
  EXPECT_EQ(trial.start(R"({"topic":"Which?"})").back(), R"(1 question_asked q1 "Which?")");
  EXPECT_TRUE(is_waiting(trial.state));
  EXPECT_EQ(trial.queue.at(root_branch).queue, timer_queue);
  EXPECT_EQ(
      trial.then(Answer{"", "EU", "ann", {}}),
      (Lines{R"(1 question_answered q1 "EU" by ann)", R"(1 step_succeeded a answered -> b {"reply":"EU"} took q1)"}));
  EXPECT_EQ(trial.state.steps.at(2).given, "EU");
  EXPECT_EQ(trial.refused(Answer{"q1", "US", "bob", {}}).code, Code::closed);
  EXPECT_EQ(trial.refused(Answer{"q9", "US", "bob", {}}).code, Code::not_found);
  EXPECT_EQ(trial.refused(Answer{"", "US", "bob", {}}).code, Code::not_found);
}

TEST(Decide, an_answer_against_the_schema_leaves_the_question_open) {
  Trial trial(asking);
  trial.start(R"({"topic":"Which?"})");
  EXPECT_EQ(trial.refused(Answer{"q1", 7, "ann", "Expected a string, but found 7."}).code, Code::invalid);
  EXPECT_EQ(trial.state.questions.size(), 1u);
}

TEST(Decide, a_question_expires_when_it_is_due_and_not_before) {
  Trial trial(asking);
  trial.start(R"({"topic":"Which?"})");
  EXPECT_EQ(trial.refused(Due{1}).code, Code::invalid);
  trial.now_us += 60 * Trial::second_us;
  EXPECT_EQ(trial.then(Due{1}), (Lines{"1 question_expired q1", "1 step_succeeded a expired -> z took q1",
                                       R"(run_finished done {"topic":"Which?"})"}));
}

TEST(Decide, a_default_answers_at_expiry) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"ask":{"kind":"question","prompt":"?","default":"blue"},"expires_ms":1000,"on":{"answered":"z"}},
    "z":{"end":"done"}}})");
  trial.start();
  trial.now_us += Trial::second_us;
  EXPECT_EQ(trial.then(Due{1}).front(), R"(1 question_answered q1 "blue" by default)");
}

TEST(Decide, full_autonomy_asks_nobody) {
  Options options;
  options.autonomous = true;
  Trial trial(asking);
  EXPECT_EQ(trial.start(R"({"topic":"Which?"})", options),
            (Lines{R"(run_started t {"topic":"Which?"})", R"(1 question_asked q1 "Which?")", "1 question_expired q1",
                   "1 step_succeeded a expired -> z took q1", R"(run_finished done {"topic":"Which?"})"}));
}

// --- wait and signals ------------------------------------------------------------------------------------------------

const char* const waiting = R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
  "a":{"wait":{"signal":"go","timeout_ms":1000},"into":"heard","on":{"fired":"b","timeout":"z"}},
  "b":{"wait":{"ms":500},"on":{"fired":"z"}},
  "z":{"end":"done"}}})";

TEST(Decide, a_signal_is_taken_by_the_wait_that_wants_it) {
  Trial trial(waiting);
  trial.start();
  EXPECT_EQ(trial.then(SendSignal{"go", 5, "s1"}),
            (Lines{"signal_received go s1", R"(1 step_succeeded a fired -> b {"heard":5} took s1)"}));
  EXPECT_EQ(trial.refused(SendSignal{"go", 5, "s1"}).code, Code::conflict);
  EXPECT_EQ(trial.refused(Due{2}).code, Code::invalid);
  trial.now_us += Trial::second_us;
  EXPECT_EQ(trial.then(Due{2}),
            (Lines{"2 timer_fired", "2 step_succeeded b fired -> z", R"(run_finished done {"heard":5})"}));
}

TEST(Decide, a_signal_before_its_wait_is_kept_in_order) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"b"}},
    "b":{"wait":{"signal":"go"},"into":"first","on":{"fired":"c"}},
    "c":{"wait":{"signal":"go"},"into":"second","on":{"fired":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.then(SendSignal{"go", 1, ""});
  trial.then(SendSignal{"other", 9, ""});
  trial.then(SendSignal{"go", 2, ""});
  EXPECT_EQ(trial.complete(1, "ok").back(), R"(run_finished done {"first":1,"second":2})");
}

TEST(Decide, a_signal_wait_times_out) {
  Trial trial(waiting);
  trial.start();
  trial.now_us += Trial::second_us;
  EXPECT_EQ(trial.then(Due{1}).at(1), "1 step_succeeded a timeout -> z");
}

TEST(Decide, a_wait_for_what_is_no_number_fails_the_step) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"wait":{"ms":"$pause"},"on":{"fired":"z","error":"y"}},"y":{"end":"failed"},"z":{"end":"done"}}})");
  EXPECT_EQ(trial.start(R"({"pause":"long"})").at(1), "1 step_failed a attempt 1 invalid error -> y");
}

// --- map ------------------------------------------------------------------------------------------------------------

const char* const mapping = R"({"name":"t","start":"plan","limits":{"steps":100},"nodes":{
  "plan":{"do":"x.plan","labels":["ok"],"on":{"ok":"work"}},
  "work":{"map":"sub_goals","retry":{"attempts":2},"on":{"joined":"see","partial":"see"}},
  "see":{"do":"x.see","labels":["done","more"],"on":{"done":"z","more":"plan"}},
  "z":{"end":"done"}}})";

TEST(Decide, sub_goals_run_when_what_they_come_after_succeeded) {
  Trial trial(mapping);
  trial.start();
  EXPECT_EQ(trial.complete(1, "ok", "{}", {sub_goal("a"), sub_goal("b", "slow", {"a"}), sub_goal("c")}),
            (Lines{"1 sub_goal_opened a default", "1 sub_goal_opened b slow", "1 sub_goal_opened c default",
                   "1 step_succeeded plan ok -> work"}));
  EXPECT_EQ(trial.queue.size(), 2u);
  EXPECT_EQ(trial.complete(3, "", R"({"x":1})"), (Lines{"3 sub_goal_closed a succeeded"}));
  EXPECT_EQ(find_goal(trial.state, root_branch, "b")->step, 5);
  EXPECT_EQ(trial.queue.size(), 2u);
  trial.complete(5, "");
  EXPECT_EQ(trial.complete(4, ""), (Lines{"4 sub_goal_closed c succeeded", "2 step_succeeded work joined -> see"}));
}

TEST(Decide, S3_11_results_stand_in_plan_order_whoever_finished_first) {
  for (const bool reversed : {false, true}) {
    Trial trial(mapping);
    trial.start();
    trial.complete(1, "ok", "{}", {sub_goal("first"), sub_goal("second")});
    trial.complete(reversed ? 4 : 3, "", reversed ? R"({"n":2})" : R"({"n":1})");
    trial.complete(reversed ? 3 : 4, "", reversed ? R"({"n":1})" : R"({"n":2})");
    Json results = Json::array();
    for (const SubGoal* goal : plan_of(trial.state, root_branch)) results.push_back({goal->id, goal->outputs["n"]});
    EXPECT_EQ(results, parse_stored(R"([["first",1],["second",2]])"));
  }
}

TEST(Decide, a_map_without_sub_goals_closes_at_once) {
  Trial trial(mapping);
  trial.start();
  EXPECT_EQ(trial.complete(1, "ok").back(), "2 step_succeeded work joined -> see");
}

TEST(Decide, a_failed_sub_goal_skips_its_dependents_and_never_its_siblings) {
  Trial trial(mapping);
  trial.start();
  trial.complete(1, "ok", "{}",
                 {sub_goal("a"), sub_goal("b", "echo", {"a"}), sub_goal("c", "echo", {"b"}), sub_goal("d")});
  EXPECT_EQ(trial.fail(3), (Lines{"3 step_failed work attempt 1 error again"}));
  EXPECT_EQ(trial.fail(3), (Lines{"3 sub_goal_closed a failed error", "2 sub_goal_closed b skipped skipped",
                                  "2 sub_goal_closed c skipped skipped"}));
  EXPECT_EQ(trial.complete(4, ""), (Lines{"4 sub_goal_closed d succeeded", "2 step_succeeded work partial -> see"}));
}

TEST(Decide, references_imply_order_and_are_replaced_by_what_they_name) {
  Trial trial(mapping);
  trial.start();
  trial.complete(1, "ok", "{}",
                 {sub_goal("a"), sub_goal("b", "echo", {}, R"({"in":[{"from_sub_goal":"a","slot":"x"}],"lit":2})")});
  EXPECT_EQ(trial.queue.size(), 1u);
  trial.complete(3, "", R"({"x":{"deep":1}})");
  EXPECT_EQ(*resolved_inputs(trial.state, trial.state.steps.at(4)), parse_stored(R"({"in":[{"deep":1}],"lit":2})"));
}

TEST(Decide, a_slot_missing_at_dispatch_closes_as_failed_unrun) {
  Trial trial(mapping);
  trial.start();
  trial.complete(1, "ok", "{}",
                 {sub_goal("a"), sub_goal("b", "echo", {}, R"({"in":{"from_sub_goal":"a","slot":"x"}})")});
  EXPECT_EQ(trial.complete(3, "", R"({"y":1})"),
            (Lines{"3 sub_goal_closed a succeeded", "4 sub_goal_closed b failed missing_slot",
                   "2 step_succeeded work partial -> see"}));
}

// A2: the depth of JSON was bounded at the door alone.
TEST(Decide, an_outcome_deeper_than_json_may_be_is_a_failed_attempt) {
  Trial trial(mapping);
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("a"), sub_goal("b")});
  EXPECT_EQ(trial.complete(3, "", canonical(Json{{"x", nested(199)}})), (Lines{"3 sub_goal_closed a succeeded"}));
  const Lines lines = trial.complete(4, "", canonical(Json{{"x", nested(200)}}));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("failed"), std::string::npos) << lines[0];
}

TEST(Decide, the_slots_of_a_sub_goal_are_composed_up_to_a_bound) {
  Trial trial(mapping);
  trial.start();
  Json many = Json::array();
  for (int n = 0; n < 1'000; ++n) many.push_back({{"from_sub_goal", "a"}, {"slot", "x"}});
  const Json deep = Json::array({{{"from_sub_goal", "d"}, {"slot", "x"}}});
  trial.complete(1, "ok", "{}",
                 {sub_goal("a"), sub_goal("b", "echo", {"a"}, canonical(Json{{"in", many}})), sub_goal("d"),
                  sub_goal("e", "echo", {"d"}, canonical(Json{{"in", deep}}))});
  trial.complete(3, "", canonical(Json{{"x", std::string(100'000, 'x')}}));
  trial.complete(4, "", canonical(Json{{"x", nested(199)}}));
  for (const char* goal : {"b", "e"}) {
    const StepId step = find_goal(trial.state, root_branch, goal)->step;
    const Result<Json> inputs = resolved_inputs(trial.state, *find_step(trial.state, step));
    ASSERT_FALSE(inputs) << goal;
    EXPECT_EQ(inputs.error().code, Code::limit) << goal;
    EXPECT_TRUE(check_slots(trial.state, *find_step(trial.state, step)).ok()) << goal;
  }
}

// H3: 12 KB of a graph stored 60 MB in one event.
TEST(Decide, a_question_or_an_end_that_composes_too_much_fails_with_limit) {
  const Json many(2'000, "$a");
  const Json input = {{"a", std::string(30'000, 'x')}};
  Trial asks(canonical(
      Json{{"name", "t"},
           {"start", "q"},
           {"limits", {{"steps", 9}}},
           {"nodes",
            {{"q", {{"ask", {{"kind", "question"}, {"prompt", many}}}, {"on", {{"answered", "z"}, {"expired", "z"}}}}},
             {"z", {{"end", "done"}}}}}}));
  asks.start(canonical(input));
  EXPECT_EQ(asks.state.status, RunStatus::failed);
  EXPECT_NE(asks.state.reason.find("limit"), std::string::npos) << asks.state.reason;
  Trial ends(canonical(Json{{"name", "t"},
                            {"start", "z"},
                            {"limits", {{"steps", 9}}},
                            {"nodes", {{"z", {{"end", {{"status", "done"}, {"output", many}}}}}}}}));
  ends.start(canonical(input));
  EXPECT_EQ(ends.state.status, RunStatus::failed);
  EXPECT_NE(ends.state.reason.find("limit"), std::string::npos) << ends.state.reason;
}

// A start under bounds of its own: the run that it leaves, and what it decided.
struct BoundedStart {
  explicit BoundedStart(const std::string& graph, std::size_t children_max, std::size_t events_max) {
    const Trial trial(graph);
    StartRun start;
    start.run = trial.state.id;
    start.graph = "t";
    Context context{.now_us = trial.now_us, .actor = "test", .id_base = plus(start.run, 1)};
    context.children_max = children_max;
    context.events_max = events_max;
    Result<Decision> decided = decide(state, start, context, trial.graphs);
    EXPECT_TRUE(decided);
    if (decided) decision = *std::move(decided);
  }
  RunState state;
  Decision decision;
};

// A12: one start decided 4^16 runs at once.
TEST(Decide, one_decision_starts_a_bounded_number_of_runs) {
  const BoundedStart start(R"({"name":"t","start":"fork","limits":{"steps":20},"nodes":{
    "fork":{"map":"sub_goals","on":{"joined":["a","b"]}},
    "a":{"call":"t","on":{"done":"meet","failed":"meet"}},
    "b":{"call":"t","on":{"done":"meet","failed":"meet"}},
    "meet":{"map":"sub_goals","join":true,"on":{"joined":"z"}},"z":{"end":"done"}}})",
                           50, 100'000);
  EXPECT_EQ(start.decision.children.size(), 50u);
}

// A12: a circle of nodes that need no worker was decided in one go, up to the steps of the graph.
TEST(Decide, one_decision_emits_a_bounded_number_of_events) {
  const BoundedStart start(R"({"name":"t","start":"loop","limits":{"steps":1000000},"nodes":{
    "loop":{"map":"sub_goals","on":{"joined":"loop","partial":"z"}},"z":{"end":"done"}}})",
                           50, 100);
  EXPECT_EQ(start.decision.events.size(), 101u);
  EXPECT_EQ(start.state.status, RunStatus::failed);
  EXPECT_NE(start.state.reason.find("events of one decision"), std::string::npos) << start.state.reason;
  EXPECT_TRUE(is_limit_reason(start.state.reason));
}

// A6: each step copied the whole list, twice. 30,000 steps of 1 KB would copy a terabyte, and no test waits for that.
TEST(Decide, A6_what_a_step_appends_costs_what_is_added_and_not_what_is_there) {
  const Trial trial(R"({"name":"t","start":"a","limits":{"steps":1000000},
    "channels":{"list":{"reducer":"append"},"all":{"reducer":"merge"},"most":{"reducer":"max"}},"nodes":{
    "a":{"do":"x.y","labels":["ok","end"],"on":{"ok":"a","end":"z"}},"z":{"end":"done"}}})");
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  const Context context{.now_us = trial.now_us, .actor = "test", .id_base = plus(start.run, 1)};
  RunState state;
  ASSERT_TRUE(decide(state, start, context, trial.graphs));
  const std::string kilobyte(1'000, 'x');
  constexpr int times = 30'000;
  for (int n = 0; n < times; ++n) {
    const StepId step = state.last_step;
    const Json patch = {{"list", {kilobyte}}, {"all", {{"k" + std::to_string(n % 3'000), kilobyte}}}, {"most", n}};
    ASSERT_TRUE(
        decide(state, CompleteStep{step, 1, {"ok", patch, {}, ""}, 1, context.now_us, 0}, context, trial.graphs));
  }
  EXPECT_EQ(read_channel(state, root_branch, "list").size(), static_cast<std::size_t>(times));
  EXPECT_EQ(read_channel(state, root_branch, "all").size(), 3'000u);
}

// H3, A12: each question may take 32 MiB, and nothing added them up.
TEST(Decide, A12_the_values_of_one_decision_take_a_bounded_room_together) {
  Json nodes = {{"start", {{"map", "sub_goals"}, {"on", {{"joined", Json::array()}}}}},
                {"meet", {{"map", "sub_goals"}, {"join", true}, {"on", {{"joined", "z"}}}}},
                {"z", {{"end", "done"}}}};
  for (int n = 0; n < 12; ++n) {
    const std::string name = "q" + std::to_string(n);
    nodes["start"]["on"]["joined"].push_back(name);
    nodes[name] = {{"ask", {{"kind", "question"}, {"prompt", Json(1'000, "$x")}}},
                   {"on", {{"answered", "meet"}, {"expired", "meet"}}}};
  }
  const Json graph = {{"name", "t"}, {"start", "start"}, {"limits", {{"steps", 100}}}, {"nodes", nodes}};
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
  EXPECT_TRUE(is_limit_reason(state.reason));
  const auto asked = std::count_if(decided->events.begin(), decided->events.end(), [](const Event& event) {
    return std::holds_alternative<QuestionAsked>(event.body);
  });
  EXPECT_EQ(asked, 5) << "the fifth, of 30 MB each, is the one over it";
}

// A12: a step that the engine closes itself copies what arrived into its channel, 12 MB of each signal here.
TEST(Decide, A12_what_the_engine_itself_stores_counts_among_the_values_of_its_decision) {
  Json graph = parse_stored(R"({"name":"t","start":"a","limits":{"steps":100},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"hear0"}},"z":{"end":"done"}}})");
  for (int n = 0; n < 15; ++n)
    graph["nodes"]["hear" + std::to_string(n)] = {{"wait", {{"signal", "go"}}},
                                                  {"into", "heard"},
                                                  {"on", {{"fired", n < 14 ? "hear" + std::to_string(n + 1) : "z"}}}};
  const Trial trial(graph.dump());
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  const Context context{.now_us = trial.now_us, .actor = "test", .id_base = plus(start.run, 1)};
  RunState state;
  ASSERT_TRUE(decide(state, start, context, trial.graphs));
  const std::string value(12'000'000, 'x');
  for (int n = 0; n < 15; ++n) ASSERT_TRUE(decide(state, SendSignal{"go", value, ""}, context, trial.graphs));
  const CompleteStep complete{1, 1, {"ok", Json::object(), {}, ""}, 1, context.now_us, 0};
  const Result<Decision> decided = decide(state, complete, context, trial.graphs);
  ASSERT_TRUE(decided) << decided.error().message;
  EXPECT_EQ(state.status, RunStatus::failed);
  EXPECT_NE(state.reason.find("bytes of values of one decision"), std::string::npos) << state.reason;
  const auto stored = std::count_if(decided->events.begin(), decided->events.end(), [](const Event& event) {
    const auto* closed = std::get_if<StepSucceeded>(&event.body);
    return closed != nullptr && closed->node.starts_with("hear");
  });
  EXPECT_EQ(stored, 12) << "the twelfth is the one over it";
}

// The reason of an end was a text of up to 32 MiB that no bound counted.
TEST(Decide, H3_the_reason_of_an_end_is_bounded) {
  Trial trial(
      R"({"name":"t","start":"z","limits":{"steps":5},"nodes":{"z":{"end":{"status":"failed","reason":"{{x}}{{x}}"}}}})");
  trial.start(Json{{"x", std::string(100'000, 'x')}}.dump());
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(trial.state.reason.substr(0, 1'000), std::string(1'000, 'x'));
  EXPECT_LE(trial.state.reason.size(), message_bytes_max);
}

TEST(Decide, a_run_that_ends_at_the_bound_of_events_closes_what_it_leaves_open) {
  const BoundedStart start(R"({"name":"t","start":"fork","limits":{"steps":1000000},"nodes":{
    "fork":{"map":"sub_goals","on":{"joined":["q","loop"]}},
    "q":{"ask":{"kind":"question","prompt":"?"},"on":{"answered":"meet","expired":"meet"}},
    "loop":{"map":"sub_goals","on":{"joined":"loop","partial":"meet"}},
    "meet":{"map":"sub_goals","join":true,"on":{"joined":"z"}},"z":{"end":"done"}}})",
                           50, 100);
  const auto* finished = std::get_if<RunFinished>(&start.decision.events.back().body);
  ASSERT_NE(finished, nullptr);
  EXPECT_EQ(finished->closed.questions.size(), 1u);
}

TEST(Decide, faulty_sub_goals_are_rejected_one_by_one_with_reasons) {
  Trial trial(mapping);
  trial.start();
  EXPECT_EQ(
      trial.complete(1, "ok", "{}",
                     {sub_goal("a"), sub_goal("a"), sub_goal("b", "nothing"), sub_goal("c", "echo", {"b"}),
                      sub_goal("d", "echo", {"nobody"}), sub_goal("e", "echo", {"f"}), sub_goal("f", "echo", {"e"}),
                      sub_goal("g", "echo", {"f"}), sub_goal("h", "fed"), sub_goal("i", "echo", {"i"})}),
      (Lines{"1 sub_goal_opened a default",
             "1 sub_goal_rejected a: Expected sub-goal a once, but its id is already taken.",
             "1 sub_goal_rejected b: Expected a known tool, but there is no tool nothing.",
             "1 sub_goal_rejected c: Expected sub-goal b to be part of the plan, but it was rejected.",
             "1 sub_goal_rejected d: Expected nobody to be a sub-goal, but there is none of that id.",
             "1 sub_goal_rejected e: Expected no cycle, but sub-goal e comes after itself through others, or after one "
             "that does.",
             "1 sub_goal_rejected f: Expected no cycle, but sub-goal f comes after itself through others, or after one "
             "that does.",
             "1 sub_goal_rejected g: Expected no cycle, but sub-goal g comes after itself through others, or after one "
             "that does.",
             "1 sub_goal_rejected h: Expected tool fed to find $food, but it is not there.",
             "1 sub_goal_rejected i: Expected no cycle, but sub-goal i comes after itself.",
             "1 step_succeeded plan ok -> work"}));
  EXPECT_EQ(trial.complete(3, ""), (Lines{"3 sub_goal_closed a succeeded", "2 step_succeeded work joined -> see"}))
      << "rejected ones do not make a map partial";
  EXPECT_EQ(rejected_of(trial.state, root_branch).size(), 9u);
}

TEST(Decide, a_precondition_may_be_met_by_the_patch_that_comes_with_the_plan) {
  Trial trial(mapping);
  trial.start();
  EXPECT_EQ(trial.complete(1, "ok", R"({"food":1})", {sub_goal("h", "fed")}).front(), "1 sub_goal_opened h default");
}

TEST(Decide, a_later_map_takes_only_what_no_map_has_taken) {
  Trial trial(mapping);
  trial.start();
  trial.complete(1, "ok", "{}", {sub_goal("a")});
  trial.complete(3, "");
  trial.complete(4, "more");
  EXPECT_EQ(trial.complete(5, "ok", "{}", {sub_goal("a"), sub_goal("b", "echo", {"a"})}).front(),
            "5 sub_goal_rejected a: Expected sub-goal a once, but its id is already taken.");
  EXPECT_EQ(trial.queue.size(), 1u) << "b comes after a, which succeeded in the round before";
  EXPECT_EQ(trial.complete(7, "").back(), "6 step_succeeded work joined -> see");
}

// --- call -----------------------------------------------------------------------------------------------------------

const char* const caller = R"({"name":"t","start":"c","limits":{"steps":9},"nodes":{
  "c":{"call":"kid","with":{"n":{"$":"x","default":null}},"into":"from_kid","on":{"done":"z","failed":"y"}},
  "y":{"end":"failed"},"z":{"end":"done"}}})";
const char* const called_graph = R"({"name":"kid","start":"k","limits":{"steps":9},"nodes":{
  "k":{"do":"x.k","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

TEST(Decide, a_call_starts_a_child_in_the_same_commit_and_takes_its_end) {
  Trial trial(caller);
  trial.add_graph(called_graph);
  EXPECT_EQ(trial.start(R"({"x":4})"), (Lines{R"(run_started t {"x":4})", "1 child_started kid"}));
  ASSERT_EQ(trial.children.size(), 1u);
  Decision::Child& child = trial.children.front();
  EXPECT_EQ(line_of(child.events.front()), R"(run_started kid {"n":4})");
  EXPECT_EQ(child.state.parent, (Parent{trial.state.id, 1, 1}));
  EXPECT_EQ(trial.refused(FinishChild{1, trial.state.id, RunStatus::done, "", 1}).code, Code::conflict);
  EXPECT_EQ(trial.then(FinishChild{1, child.state.id, RunStatus::done, "", Json{{"r", 1}}}),
            (Lines{R"(1 child_finished done {"r":1})", R"(1 step_succeeded c done -> z {"from_kid":{"r":1}})",
                   R"(run_finished done {"from_kid":{"r":1},"x":4})"}));
}

TEST(Decide, an_aborted_child_falls_back_to_failed) {
  Trial trial(caller);
  trial.add_graph(called_graph);
  trial.start();
  EXPECT_EQ(trial.then(FinishChild{1, trial.children.front().state.id, RunStatus::aborted, "", nullptr}).at(1),
            R"(1 step_succeeded c aborted -> y {"from_kid":null})");
}

TEST(Decide, a_call_of_an_unknown_graph_fails_the_step) {
  Trial trial(caller);
  EXPECT_EQ(trial.start().at(1), "1 step_failed c attempt 1 not_found for good");
}

TEST(Decide, calls_are_at_most_sixteen_deep) {
  Trial trial(R"({"name":"t","start":"c","limits":{"steps":9},"nodes":{
    "c":{"call":"t","on":{"done":"z","failed":"y"}},"y":{"end":"failed"},"z":{"end":"done"}}})");
  trial.start();
  EXPECT_EQ(trial.children.size(), 16u);
  EXPECT_EQ(trial.state.status, RunStatus::failed) << "the deepest call failed, and so did all above it";
}

TEST(Decide, children_of_one_command_have_different_ids) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":99},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b","c"]}},
    "a":{"call":"mid","on":{"done":"j","failed":"j"}},"b":{"call":"mid","on":{"done":"j","failed":"j"}},
    "c":{"call":"mid","on":{"done":"j","failed":"j"}},
    "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.add_graph(called_graph);
  trial.add_graph(R"({"name":"mid","start":"c","limits":{"steps":9},"nodes":{
    "c":{"call":"kid","on":{"done":"z","failed":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok");
  std::set<RunId> ids;
  for (const Decision::Child& child : trial.children) ids.insert(child.state.id);
  EXPECT_EQ(ids.size(), 6u);
}

TEST(Decide, cancelling_names_what_it_closes) {
  Trial trial(caller);
  trial.add_graph(called_graph);
  trial.start();
  EXPECT_EQ(trial.then(Cancel{"stop"}), (Lines{"run_finished aborted (stop) {}"}));
  EXPECT_EQ(std::get<RunFinished>(trial.history.back().body).closed.children.size(), 1u);
}

// --- pause ----------------------------------------------------------------------------------------------------------

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

// --- ends and budgets that handlers know of -------------------------------------------------------------------------

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

// --- plan -----------------------------------------------------------------------------------------------------------

TEST(Decide, a_plan_tree_grows_by_decomposition_and_changes_by_revision) {
  Trial trial(mapping);
  trial.start();
  PlanCreated created{1, "build", {{"root", "Build it", {}, nullptr}}};
  TaskDecomposed decomposed{"root", "run_plan", 1, {{"one", "First", {}, nullptr}, {"two", "Second", {"one"}, nullptr}},
                            {},     0};
  PlanRevised revised{2, "gap", parse_stored(R"([{"op":"update","id":"two","title":"Other"},{"op":"remove","id":"one"},
                                                 {"op":"add","id":"three","title":"Third","parent":"root"}])")};
  trial.complete(1, "ok", "{}", {created, decomposed, revised});
  EXPECT_EQ(trial.state.plan_version, 2);
  EXPECT_EQ(find_goal(trial.state, root_branch, "two")->title, "Other");
  EXPECT_EQ(find_goal(trial.state, root_branch, "two")->parent, "root");
  EXPECT_EQ(find_goal(trial.state, root_branch, "one")->status, GoalStatus::skipped);
  EXPECT_EQ(find_goal(trial.state, root_branch, "three")->parent, "root");
  EXPECT_EQ(trial.state.steps.size(), 1u) << "structure is no work for a map";
}

TEST(Decide, a_plan_revision_made_for_another_version_is_a_failed_attempt) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":9},"on":{"ok":"b"}},
    "b":{"do":"x.b","labels":["ok"],"retry":{"attempts":9},"on":{"ok":"z"}},"z":{"end":"done"}}})");
  const auto revision = [](std::int64_t version) { return PlanRevised{version, "gap", Json::array()}; };
  trial.start();
  const Lines failed{"1 step_failed a attempt 1 invalid again"};
  EXPECT_EQ(trial.complete(1, "ok", "{}", {PlanCreated{4, "g", {}}, revision(6)}), failed);
  trial.complete(1, "ok", "{}", {PlanCreated{4, "g", {}}, revision(5), revision(6)});
  for (const std::int64_t version : {1, 6, 8}) {
    trial.complete(2, "ok", "{}", {revision(version)});
    EXPECT_EQ(trial.state.plan_version, 6) << version << " was not made for version 6";
  }
  trial.complete(2, "ok", "{}", {revision(7)});
  EXPECT_EQ(trial.state.plan_version, 7);
}

TEST(Decide, a_revision_changes_what_structure_is_about) {
  Trial trial(mapping);
  trial.start();
  const Json before = {{"instruction", "Do it."}};
  const PlanRevised revised{2, "review", parse_stored(R"([
      {"op":"update","id":"one","context":{"instruction":"Do it well."}},{"op":"update","id":"two","title":"Second"},
      {"op":"add","id":"new","context":{"leaf":true}}])")};
  trial.complete(1, "ok", "{}",
                 {PlanCreated{1, "g", {{"one", "One", {}, before}, {"two", "Two", {}, before}}}, revised});
  EXPECT_EQ(find_goal(trial.state, root_branch, "one")->context, (Json{{"instruction", "Do it well."}}));
  EXPECT_EQ(find_goal(trial.state, root_branch, "one")->title, "One") << "the rest stays";
  EXPECT_EQ(find_goal(trial.state, root_branch, "two")->context, before);
  EXPECT_EQ(find_goal(trial.state, root_branch, "new")->context, (Json{{"leaf", true}}));
}

TEST(Decide, a_revision_says_how_far_structure_has_come) {
  Trial trial(mapping);
  trial.start();
  const auto revised = [](const char* changes) { return PlanRevised{2, "gap", parse_stored(changes)}; };
  trial.complete(1, "ok", "{}",
                 {PlanCreated{1, "g", {{"one", "One", {}, nullptr}, {"two", "Two", {}, nullptr}}}, sub_goal("work"),
                  revised(R"([{"op":"update","id":"one","status":"succeeded"},
                              {"op":"update","id":"two","status":"nonsense"},
                              {"op":"update","id":"work","status":"failed"}])")});
  EXPECT_EQ(find_goal(trial.state, root_branch, "one")->status, GoalStatus::succeeded);
  EXPECT_EQ(find_goal(trial.state, root_branch, "two")->status, GoalStatus::planned);
  EXPECT_EQ(find_goal(trial.state, root_branch, "work")->status, GoalStatus::open) << "work says itself how it went";
}

TEST(Decide, plans_of_branches_append_in_edge_order_at_the_join) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":99},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","b"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j"}},"b":{"do":"x.b","labels":["ok"],"on":{"ok":"j"}},
    "j":{"map":"sub_goals","join":true,"on":{"joined":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok");
  trial.complete(3, "ok", "{}", {sub_goal("q"), sub_goal("same")});
  trial.complete(2, "ok", "{}", {sub_goal("p"), sub_goal("same")});
  std::string order;
  for (const SubGoal* goal : plan_of(trial.state, root_branch)) order += goal->id + " ";
  EXPECT_EQ(order, "p same q same ");
  EXPECT_EQ(trial.queue.size(), 3u) << "one id that two branches planned runs once";
}

}  // namespace
}  // namespace cairn
