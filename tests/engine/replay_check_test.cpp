// Recorded runs decided again. That everything comes out again under the same graph is compared after each decision of
// every other test here, and of the simulator's.
#include "engine/replay_check.hpp"

#include <functional>

#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

const char* const two_steps = R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
  "a":{"do":"x.a","labels":["ok","no"],"retry":{"attempts":2},"on":{"ok":"b","no":"z"}},
  "b":{"do":"x.b","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})";

std::optional<Divergence> again(const Trial& trial, GraphRef graph = nullptr, ReplayCheck::Rerun rerun = {}) {
  ReplayCheck check(trial.state.id, trial.graphs, std::move(graph), std::move(rerun));
  std::size_t from = 0;
  for (const std::size_t to : trial.commits) {
    check.add({trial.history.data() + from, to - from});
    from = to;
  }
  return check.divergence();
}

Trial finished() {
  Trial trial(two_steps);
  trial.start();
  trial.complete(1, "ok", R"({"n":1})", {Record{RecordKind::decision_enforced, R"({"action":"go"})"}});
  trial.complete(2, "ok");
  EXPECT_EQ(trial.state.status, RunStatus::done);
  return trial;
}

TEST(ReplayCheck, a_run_that_was_started_with_a_key_and_tags_comes_out_again) {
  Trial trial(two_steps);
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  start.input = Json::object();
  start.tags = {{"customer", "7"}};
  start.key = "order 12";
  trial.then(start);
  EXPECT_EQ(trial.state.key, "order 12");
  EXPECT_FALSE(again(trial));
}

TEST(ReplayCheck, reasons_that_people_gave_come_out_again) {
  Trial trial(two_steps);
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  start.input = Json::object();
  start.reason = "Tried again.";
  trial.then(start);
  trial.then(Pause{"night"});
  trial.then(Resume{"day"});
  trial.fail(1, "error", false);
  trial.then(Reopen{"mended"});
  EXPECT_EQ(std::get<RunStarted>(trial.history.front().body).reason, "Tried again.");
  EXPECT_FALSE(again(trial));
}

TEST(ReplayCheck, names_the_node_and_the_decision_where_a_changed_graph_goes_another_way) {
  const Trial trial = finished();
  const auto how = again(trial, version_of(replaced(two_steps, R"("ok":"z"})", R"("ok":"a"})"), "v2"));
  ASSERT_TRUE(how);
  EXPECT_EQ(how->seq, 4);
  EXPECT_EQ(how->step, 2);
  EXPECT_EQ(how->node, "b");
  EXPECT_EQ(how->type, "step_succeeded");
  EXPECT_EQ(how->decision, "go");
}

TEST(ReplayCheck, a_graph_that_differs_where_the_run_never_was_changes_nothing) {
  EXPECT_FALSE(again(finished(), version_of(replaced(two_steps, R"("no":"z")", R"("no":"b")"), "v2")));
}

TEST(ReplayCheck, a_label_that_is_no_edge_any_more_is_where_it_parts) {
  const auto how = again(finished(), version_of(replaced(replaced(two_steps, R"(["ok","no"])", R"(["no"])"),
                                                         R"("ok":"b","no":"z")", R"("no":"b")"),
                                                "v2"));
  ASSERT_TRUE(how);
  EXPECT_EQ(how->node, "a");
  EXPECT_NE(how->again.find("step_failed"), std::string::npos) << how->again;
}

TEST(ReplayCheck, more_attempts_than_were_allowed_would_have_been_made) {
  Trial trial(two_steps);
  trial.start();
  trial.fail(1);
  trial.fail(1);
  ASSERT_EQ(trial.state.status, RunStatus::failed);
  const auto how = again(trial, version_of(replaced(two_steps, R"("attempts":2)", R"("attempts":3)"), "v2"));
  ASSERT_TRUE(how);
  EXPECT_EQ(how->seq, 3);
}

TEST(ReplayCheck, an_attempt_that_was_not_worth_another_is_none_with_more_attempts_either) {
  Trial trial(two_steps);
  trial.start();
  trial.fail(1, "error", false);
  EXPECT_FALSE(again(trial, version_of(replaced(two_steps, R"("attempts":2)", R"("attempts":3)"), "v2")));
}

// Events that a forger may have written into a history: none of them follows from the rules.
TEST(ReplayCheck, an_event_that_the_rules_do_not_lead_to_is_found) {
  const std::vector<std::function<void(Trial&)>> forgeries = {
      [](Trial& trial) { std::get<StepSucceeded>(trial.history[2].body).next = {"z"}; },
      [](Trial& trial) { std::get<RunFinished>(trial.history.back().body).status = RunStatus::failed; },
      [](Trial& trial) { std::get<RunFinished>(trial.history.back().body).output = R"({"n":2})"; },
      [](Trial& trial) { trial.history[2].step = 7; },
      [](Trial& trial) { trial.history.back().step = 2; },
      [](Trial& trial) { trial.history[1].body = TimerFired{}; },
      [](Trial& trial) { std::get<StepSucceeded>(trial.history[3].body).attempt = 4; },
      [](Trial& trial) {
        trial.history.pop_back();
        --trial.commits.back();
      },
  };
  for (std::size_t at = 0; at < forgeries.size(); ++at) {
    Trial trial = finished();
    forgeries[at](trial);
    EXPECT_TRUE(again(trial)) << "forgery " << at;
  }
}

TEST(ReplayCheck, a_handler_that_leaves_something_else_now_is_found) {
  const Trial trial = finished();
  const auto leaves = [](const std::string& label, const std::string& patch) {
    return [label, patch](const RunState&, const Job& job) -> std::optional<Result<Outcome, Failure>> {
      if (job.step != 1) return std::nullopt;
      return Outcome{label, parse_stored(patch), {}, {}};
    };
  };
  EXPECT_FALSE(again(trial, nullptr, leaves("ok", R"({"n":1})")));
  EXPECT_TRUE(again(trial, nullptr, leaves("no", R"({"n":1})")));
  const auto how = again(trial, nullptr, leaves("ok", R"({"n":2})"));
  ASSERT_TRUE(how);
  EXPECT_EQ(how->node, "a");
  EXPECT_EQ(how->again, R"({"n":2})");
}

}  // namespace
}  // namespace cairn
