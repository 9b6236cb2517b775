// Decisions on questions, waits and signals.
#include "tests/engine/decide/decided_graphs.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using namespace decided;
using Lines = std::vector<std::string>;

// --- ask -------------------------------------------------------------------------------------------------------------

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

}  // namespace
}  // namespace cairn
