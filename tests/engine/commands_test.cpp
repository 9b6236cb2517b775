// Calls and commands from outside: children across cancel, failure and depth; pause with steps in flight; retry of
// failed runs; versions.
#include "engine/codec.hpp"
#include "engine/graph_parsing.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

const char* const kid = R"({"name":"kid","start":"k","limits":{"steps":9},"nodes":{
  "k":{"do":"x.k","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

// A step, a call, a timer, a question and a sub-goal side by side.
const char* const busy = R"({"name":"t","start":"f","limits":{"steps":99},"nodes":{
  "f":{"do":"x.f","labels":["ok"],"on":{"ok":["a","c","w","q","p"]}},
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"j"}},
  "c":{"call":"kid","with":{"n":"$n"},"on":{"done":"j","failed":"j"}},
  "w":{"wait":{"ms":5000},"on":{"fired":"j"}},
  "q":{"ask":{"kind":"question","prompt":"?"},"into":"answer","on":{"answered":"j","expired":"j"}},
  "p":{"do":"x.p","labels":["ok"],"on":{"ok":"m"}},"m":{"map":"sub_goals","on":{"joined":"j"}},
  "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

class Busy : public Trial {
 public:
  Busy() : Trial(busy) {
    add_graph(kid);
    start(R"({"n":4})");
    complete(1, "ok");
    complete(6, "ok", "{}", {sub_goal("g")});
  }
};

TEST(Commands, a_run_failed_beside_other_work_reopens_with_all_of_it) {
  Busy trial;
  const RunId first_child = trial.children.at(0).state.id;
  const TimeUs due = *trial.state.steps.at(4).due;
  trial.now_us += Trial::second_us;
  trial.fail(2);
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  const Closed& closed = std::get<RunFinished>(trial.history.back().body).closed;
  EXPECT_EQ(closed.children, (std::vector<RunId>{first_child}));
  EXPECT_TRUE(trial.queue.empty());
  EXPECT_EQ(trial.refused(Answer{"q5", "x", "", {}}).code, Code::closed);

  trial.now_us += Trial::second_us;
  EXPECT_EQ(trial.then(Reopen{}), (Lines{"run_reopened", "3 child_started kid"})) << "a call starts a new child";
  ASSERT_EQ(trial.children.size(), 2u);
  EXPECT_NE(trial.children[1].state.id, first_child);
  EXPECT_EQ(line_of(trial.children[1].events.front()), R"(run_started kid {"n":4})");
  EXPECT_EQ(trial.refused(FinishChild{3, first_child, RunStatus::aborted, "", nullptr}).code, Code::conflict);
  EXPECT_EQ(trial.state.steps.at(2).attempt, 1);
  EXPECT_EQ(trial.queue.at(trial.state.steps.at(2).branch).run_at_us, trial.now_us);
  EXPECT_EQ(*trial.state.steps.at(4).due, due) << "timers are as they were";
  EXPECT_EQ(trial.queue.at(trial.state.steps.at(4).branch).run_at_us, due);
  EXPECT_EQ(trial.state.questions.count("q5"), 1u) << "and questions";
  trial.complete(2, "ok");
  trial.then(Answer{"", "x", "ann", {}});
  trial.then(FinishChild{3, trial.children[1].state.id, RunStatus::done, "", 1});
  trial.complete(8, "");
  trial.now_us = due;
  trial.then(Due{4});
  EXPECT_EQ(trial.complete(9, "ok").back(), R"(run_finished done {"answer":"x","n":4})");
}

TEST(Commands, a_run_that_failed_without_a_failed_step_is_not_reopened) {
  Trial by_end(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"failed"}}})");
  by_end.start();
  by_end.complete(1, "ok");
  EXPECT_EQ(by_end.refused(Reopen{}).code, Code::conflict);
  Trial by_limit(R"({"name":"t","start":"a","limits":{"steps":1},"nodes":{
    "a":{"do":"x.a","labels":["ok","out"],"on":{"ok":"a","out":"z"}},"z":{"end":"done"}}})");
  by_limit.start();
  by_limit.complete(1, "ok");
  EXPECT_EQ(by_limit.state.status, RunStatus::failed);
  EXPECT_EQ(by_limit.refused(Reopen{}).code, Code::conflict);
}

TEST(Commands, a_failed_timer_call_or_ask_reopens_too) {
  Trial call(R"({"name":"t","start":"c","limits":{"steps":9},"nodes":{
    "c":{"call":"kid","on":{"done":"z","failed":"z"}},"z":{"end":"done"}}})");
  call.start();
  ASSERT_EQ(call.state.status, RunStatus::failed) << "there is no graph kid yet";
  call.add_graph(kid);
  EXPECT_EQ(call.then(Reopen{}), (Lines{"run_reopened", "1 child_started kid"}));
  EXPECT_EQ(call.then(FinishChild{1, call.children[0].state.id, RunStatus::done, "", 1}).back(),
            "run_finished done {}");
}

TEST(Commands, a_wait_that_could_not_open_reads_its_time_again_and_fails_as_before) {
  Trial trial(R"({"name":"t","start":"w","limits":{"steps":9},"nodes":{
    "w":{"wait":{"ms":"$pause"},"on":{"fired":"z"}},"z":{"end":"done"}}})");
  trial.start(R"({"pause":"long"})");
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  const std::string reason = trial.state.reason;
  EXPECT_EQ(trial.then(Reopen{}).size(), 3u);
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(trial.state.reason, reason);
  const auto& reopened = std::get<RunReopened>(trial.history.at(trial.history.size() - 3).body);
  EXPECT_TRUE(reopened.opens_again);
  EXPECT_EQ(encode_payload(reopened), R"({"opens":"again"})");
}

// The sums of a join stay added up.
TEST(Commands, a_join_whose_sums_do_not_fit_is_not_opened_by_a_retry) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":99},"channels":{"n":{"reducer":"sum"}},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["l","r"]}},
    "l":{"do":"x.l","labels":["ok"],"on":{"ok":"j"}},"r":{"do":"x.r","labels":["ok"],"on":{"ok":"j"}},
    "j":{"wait":{"ms":1},"join":true,"on":{"fired":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.complete(1, "ok");
  trial.complete(2, "ok", R"({"n":9000000000000000000})");
  trial.complete(3, "ok", R"({"n":9000000000000000000})");
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  trial.then(Reopen{});
  EXPECT_EQ(trial.state.status, RunStatus::failed);
}

TEST(Commands, results_in_flight_are_recorded_while_paused_and_what_they_open_waits) {
  Busy trial;
  trial.then(Pause{});
  for (const auto& [branch, job] : trial.queue) EXPECT_EQ(job.run_at_us, never_us);
  trial.complete(8, "", R"({"v":1})");
  trial.fail(2, "lost");
  EXPECT_EQ(trial.then(FinishChild{3, trial.children[0].state.id, RunStatus::done, "", 1}).size(), 2u);
  trial.then(Answer{"", "x", "ann", {}});
  EXPECT_EQ(trial.refused(Due{4}).code, Code::conflict);
  EXPECT_FALSE(is_waiting(trial.state)) << "it is paused";
  for (const auto& [branch, job] : trial.queue) EXPECT_EQ(job.run_at_us, never_us);
  trial.then(Resume{});
  EXPECT_EQ(trial.queue.at(trial.state.steps.at(2).branch).attempt, 2);
  EXPECT_EQ(trial.queue.at(trial.state.steps.at(2).branch).run_at_us, trial.now_us + 100'000);
  trial.complete(2, "ok");
  trial.now_us += 9 * Trial::second_us;
  trial.then(Due{4});
  EXPECT_EQ(trial.complete(9, "ok").back(), R"(run_finished done {"answer":"x","n":4})");
}

TEST(Commands, a_reason_stands_in_the_event_and_that_of_a_pause_in_the_state_until_the_run_goes_on) {
  Busy trial;
  trial.then(Pause{"The shelf moves."});
  EXPECT_EQ(std::get<RunPaused>(trial.history.back().body).reason, "The shelf moves.");
  EXPECT_EQ(trial.state.pause_reason, "The shelf moves.");
  EXPECT_EQ(trial.state.reason, "") << "it has not ended";
  trial.then(Resume{"It stands."});
  EXPECT_EQ(std::get<RunResumed>(trial.history.back().body).reason, "It stands.");
  EXPECT_EQ(trial.state.pause_reason, "");
  trial.then(Pause{"Again."});
  trial.then(Cancel{"enough"});
  EXPECT_EQ(trial.state.pause_reason, "") << "the run's end has its own";
  EXPECT_EQ(trial.state.reason, "enough");
}

TEST(Commands, a_retry_and_a_move_keep_their_reasons_too) {
  const std::string graph = R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";
  Trial trial(graph);
  trial.graphs.add(version_of(replaced(graph, R"("steps":9)", R"("steps":8)"), "v2"), false);
  trial.start();
  trial.fail(1);
  trial.then(Reopen{"Mended."});
  EXPECT_EQ(std::get<RunReopened>(trial.history.back().body).reason, "Mended.");
  trial.then(MoveRun{"v2", "Fewer steps."});
  EXPECT_EQ(std::get<RunMoved>(trial.history.back().body).reason, "Fewer steps.");
}

TEST(Commands, a_reason_that_is_too_long_is_refused_and_changes_nothing) {
  const std::string long_one(501, 'r');
  Busy trial;
  for (const Command& command : {Command(Pause{long_one}), Command(MoveRun{"v", long_one})})
    EXPECT_NE(trial.refused(command).code, Code::conflict);
  EXPECT_EQ(trial.refused(Pause{long_one}).message, "Expected a reason of at most 500 bytes, but found 501.");
  trial.then(Pause{});
  EXPECT_EQ(trial.refused(Resume{long_one}).code, Code::invalid);
  EXPECT_EQ(trial.state.status, RunStatus::paused);
}

TEST(Commands, a_retry_without_a_pause_is_at_once_after_any_number_of_attempts) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":200,"factor":1000},"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  for (int failed = 0; failed < 110; ++failed) {
    trial.fail(1);
    ASSERT_EQ(trial.queue.at(root_branch).run_at_us, trial.now_us) << failed;
  }
}

TEST(Commands, a_retry_that_waits_keeps_its_time_over_a_pause) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":2,"backoff_ms":9000},"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start();
  trial.fail(1);
  const TimeUs again = trial.queue.at(root_branch).run_at_us;
  trial.then(Pause{});
  trial.now_us += Trial::second_us;
  trial.then(Resume{});
  EXPECT_EQ(trial.queue.at(root_branch).run_at_us, again);
}

TEST(Commands, a_paused_run_may_be_cancelled) {
  Busy trial;
  trial.then(Pause{});
  EXPECT_EQ(trial.then(Cancel{"enough"}), (Lines{"run_finished aborted (enough) {}"}));
  const Closed& closed = std::get<RunFinished>(trial.history.back().body).closed;
  EXPECT_EQ(closed.steps, (std::vector<StepId>{2, 3, 4, 5, 7, 8}));
  EXPECT_EQ(closed.questions, (std::vector<std::string>{"q5"}));
  EXPECT_EQ(trial.refused(Resume{}).code, Code::closed);
  EXPECT_EQ(trial.refused(Reopen{}).code, Code::conflict);
  EXPECT_EQ(trial.refused(FinishChild{3, trial.children[0].state.id, RunStatus::done, "", 1}).code, Code::closed);
}

TEST(Commands, a_child_leaves_by_the_label_of_its_end) {
  for (const auto& [status, reason] :
       {std::pair{RunStatus::done, "z"}, {RunStatus::failed, "y"}, {RunStatus::aborted, "x"}}) {
    Trial trial(R"({"name":"t","start":"c","limits":{"steps":9},"nodes":{
      "c":{"call":"kid","on":{"done":"z","failed":"y","aborted":"x"}},
      "x":{"end":{"status":"failed","reason":"x"}},"y":{"end":{"status":"failed","reason":"y"}},
      "z":{"end":{"status":"failed","reason":"z"}}}})");
    trial.add_graph(kid);
    trial.start();
    const RunId child = trial.children[0].state.id;
    EXPECT_EQ(trial.then(FinishChild{1, child, status, "", 1}).back(),
              "run_finished failed (" + std::string(reason) + ") {}");
  }
}

TEST(Commands, a_child_is_as_autonomous_and_as_urgent_as_its_caller) {
  Busy plain;
  EXPECT_FALSE(plain.children[0].state.options.autonomous);
  Trial trial(busy);
  trial.add_graph(kid);
  Options options;
  options.autonomous = true;
  options.priority = 7;
  trial.start(R"({"n":4})", options);
  trial.complete(1, "ok");
  EXPECT_TRUE(trial.children[0].state.options.autonomous);
  EXPECT_EQ(trial.children[0].state.options.priority, 7);
}

TEST(Commands, a_run_keeps_its_graph_version_and_a_call_takes_the_current_one) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"c"}},
    "c":{"call":"kid","on":{"done":"z","failed":"z"}},"z":{"end":"done"}}})");
  trial.add_graph(kid);
  trial.start();
  const std::string version = trial.state.graph->version;
  const Json newer = parse_stored(R"({"name":"kid","start":"n","limits":{"steps":9},"nodes":{
    "n":{"do":"x.n","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  const Json other = parse_stored(R"({"name":"t","start":"b","limits":{"steps":9},"nodes":{
    "b":{"do":"x.b","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.graphs.add(stored_graph(newer, "newer kid"), true);
  trial.graphs.add(stored_graph(other, "newer t"), true);
  EXPECT_EQ(trial.complete(1, "ok"), (Lines{"1 step_succeeded a ok -> c", "2 child_started kid"}));
  EXPECT_EQ(trial.state.graph->version, version);
  EXPECT_EQ(trial.children[0].state.graph->version, "newer kid");
  EXPECT_EQ(std::get<ChildStarted>(trial.history.back().body).version, "newer kid") << "what was chosen is written";
}

TEST(Commands, an_edit_of_channels_is_refused_inside_a_fan_out) {
  Busy trial;
  EXPECT_EQ(trial.refused(EditChannels{Json{{"n", 5}}}).code, Code::conflict);
}

TEST(Commands, options_out_of_range_are_refused) {
  Trial trial(busy);
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  for (const std::int32_t priority : {-1, 10}) {
    start.options.priority = priority;
    EXPECT_EQ(trial.refused(start).code, Code::invalid);
  }
  start.options.priority = 9;
  EXPECT_EQ(trial.then(start).size(), 1u);
  EXPECT_EQ(trial.queue.at(root_branch).priority, 9);
}

TEST(Commands, a_continued_runs_data_stands_in_the_channel_history) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z"}},"z":{"end":{"status":"done","output":{"last":"$history/turns/0"}}}}})");
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  start.continues = plus(trial.state.id, 5);
  start.history = parse_stored(R"({"turns":["hello"]})");
  trial.then(start);
  EXPECT_EQ(trial.state.continues, start.continues);
  EXPECT_EQ(trial.complete(1, "ok").back(), R"(run_finished done {"last":"hello"})");
}

// --- values at the edges of the ranges ------------------------------------------------------------------------------

TEST(Values, a_sum_at_the_edges_of_64_bits_is_exact_or_refused) {
  const std::string graph = R"({"name":"t","start":"a","limits":{"steps":9},"channels":{"n":{"reducer":"sum"}},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":9},"on":{"ok":"z"}},"z":{"end":"done"}}})";
  struct Case {
    const char *before, *patch, *after;  // after "": a failed attempt
  };
  for (const Case& one :
       {Case{"9223372036854775806", "1", "9223372036854775807"}, Case{"9223372036854775807", "1", ""},
        Case{"-9223372036854775807", "-1", "-9223372036854775808"}, Case{"-9223372036854775808", "-1", ""},
        Case{"9223372036854775807", "-9223372036854775808", "-1"}, Case{"0", "18446744073709551615", ""},
        Case{"0.5", "9223372036854775807", "9.223372036854776e+18"}, Case{"-0.0", "0", "0.0"}}) {
    Trial trial(graph);
    trial.start(std::string(R"({"n":)") + one.before + "}");
    const Lines lines = trial.complete(1, "ok", std::string(R"({"n":)") + one.patch + "}");
    if (*one.after == '\0')
      EXPECT_EQ(lines.front(), "1 step_failed a attempt 1 invalid again") << one.before << " + " << one.patch;
    else
      EXPECT_EQ(canonical(trial.state.output), std::string(R"({"n":)") + one.after + "}");
  }
}

TEST(Values, integers_up_to_64_unsigned_bits_and_minus_zero_stay_as_they_are) {
  const std::string values =
      R"({"big":18446744073709551615,"low":-9223372036854775808,"none":null,"small":5e-324,"zero":-0.0})";
  Trial trial(busy);
  trial.add_graph(kid);
  trial.start(values);
  EXPECT_EQ(canonical(read_channels(trial.state, root_branch)), values);
  trial.complete(1, "ok", R"({"empty":"","deep":[[[[]]]]})");
  EXPECT_EQ(canonical(read_channel(trial.state, root_branch, "deep")), "[[[[]]]]");
}

}  // namespace
}  // namespace cairn
