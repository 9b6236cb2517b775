// Decisions on failed and lost attempts: what is tried again, when, and what counts.
#include "tests/engine/decide/decided_graphs.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using namespace decided;
using Lines = std::vector<std::string>;

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

}  // namespace
}  // namespace cairn
