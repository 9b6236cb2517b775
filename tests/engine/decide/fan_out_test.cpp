// Decisions on fan-outs and joins, nested and in loops.
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

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

}  // namespace
}  // namespace cairn
