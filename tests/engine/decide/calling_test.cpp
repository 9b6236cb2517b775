// Decisions on calls of other graphs, and on children that are cancelled.
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

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

}  // namespace
}  // namespace cairn
