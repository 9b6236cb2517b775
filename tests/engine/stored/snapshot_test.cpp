#include "engine/snapshot.hpp"

#include <gtest/gtest.h>
#include <limits>

#include "engine/graph_parsing.hpp"

namespace cairn {
namespace {

constexpr std::int64_t big = std::numeric_limits<std::int64_t>::max();
const RunId stored_run = *parse_run_id("0190f3a2-7c41-7b3e-9d55-0123456789ab");
const RunId stored_parent = *parse_run_id("0190f3a2-7c41-7b3e-9d55-0123456789ac");

Graphs known_graphs() {
  Graphs graphs;
  graphs.add(stored_graph(Json::parse(R"({"name": "g", "start": "a", "limits": {"steps": 9},
    "channels": {"list": {"reducer": "append"}, "total": {"reducer": "sum"}, "best": {"reducer": "max"}, "all": {"reducer": "merge"}},
    "nodes": {"a": {"do": "x.a", "labels": ["ok"], "on": {"ok": "b"}}, "b": {"end": "done"}}})"),
                          "v1"),
             true);
  return graphs;
}

Plan some_plan() {
  Plan plan;
  SubGoal first;
  first.id = "g1";
  first.tool = "echo";
  first.title = "Ä";
  first.parent = "root";
  first.inputs = {{"a", nullptr}};
  first.after = {"g0"};
  first.queue = "q";
  first.context = {{"why", "so"}};
  first.status = GoalStatus::succeeded;
  first.outputs = {{"out", big}};
  first.error = "e";
  first.message = "m";
  first.attempts = 2;
  first.step = 3;
  first.map = 2;
  first.waits_for = 1;
  first.dependents = {1, 2};
  SubGoal double_one;
  double_one.id = "g1";
  double_one.status = GoalStatus::skipped;
  plan.goals = {first, double_one, double_one};
  plan.goals[2].id = "g2";
  plan.rejected = {{"g9", "nothing", "Expected a known tool, but nothing is none."}};
  plan.by_id = {{"g1", 0}, {"g2", 2}};
  plan.next_untaken = 2;
  return plan;
}

Step some_step() {
  Step step;
  step.id = 3;
  step.branch = 2;
  step.node = 0;
  step.goal = 1;
  step.attempt = 2;
  step.errors = 1;
  step.losses = 4;
  step.opened_at = 5;
  step.run_at = never_us;
  step.given = {{"answer", "☃"}};
  step.budgets = {{"tries", 2}};
  step.exhausted = step.failed_final = step.map.partial = step.unfit = true;
  step.error = "error";
  step.message = "It broke.";
  step.question = "q3";
  step.due = -1;
  step.child = stored_parent;
  step.map.open_goals = 7;
  step.map.doomed = {1, 5};
  step.closing_label = "answered";
  step.brought = Json(nullptr);
  return step;
}

// Every field differs from its default.
RunState full_state(const Graphs& graphs) {
  RunState state;
  state.id = stored_run;
  state.graph = graphs.by_version("v1");
  state.seq = big;
  state.status = RunStatus::paused;
  state.reason = "\"quoted\"";
  state.pause_reason = "night";
  state.output = {1, nullptr, "é"};
  state.started_at = 1;
  state.last_at = 2;
  state.input = R"({"n":18446744073709551615})";
  state.options = {true, 9, {{"tries", big}}};
  state.tags = {{"k", "v"}, {"", ""}};
  state.parent = Parent{stored_parent, 4, 2};
  state.continues = stored_parent;
  state.last_step = 3;
  state.last_branch = 2;
  Branch root;
  root.id = 1;
  root.step = 1;
  root.plan = some_plan();
  root.fan = {2, 3};
  root.arrived = 1;
  root.cache["key"] = {2, "ok", R"({"n":1})"};
  root.data.add(JsonText(R"({"list":[1],"total":2,"best":3,"all":{"x":1},"free":null})"), *state.graph);
  root.data.add(JsonText(R"({"list":[2],"total":2,"best":1,"all":{"y":2}})"), *state.graph);
  Branch odd;
  odd.id = 2;
  odd.parent = 1;
  odd.place = 1;
  odd.at_join = 0;
  odd.at_end = 1;
  odd.data.set({{"list", "no list"}, {"total", "no number"}, {"all", 1}}, *state.graph);
  state.branches.emplace(1, std::move(root));
  state.branches.emplace(2, std::move(odd));
  state.steps.emplace(3, some_step());
  state.questions["q3"] = {"q3", 3, "question", "?", {{"type", "string"}}, Json(nullptr), 9};
  state.questions["q4"] = {"q4", 4, "message", nullptr, nullptr, {}, {}};
  state.signals["go"] = {{"s1", {{"x", 1}}, 5}, {"s2", nullptr, 6}};
  state.signal_ids = {"s0", "s1", "s2"};
  state.budgets["tries"] = {5, 3, true};
  state.plan_version = 2;
  state.goal = "Know.";
  return state;
}

RunState restored(const Json& snapshot, const Graphs& graphs) {
  auto state = restore_snapshot(snapshot, graphs);
  EXPECT_TRUE(state.ok()) << state.error().message;
  return *state;
}

TEST(Snapshot, a_full_state_comes_back) {
  const Graphs graphs = known_graphs();
  const RunState state = full_state(graphs);
  const Json snapshot = snapshot_json(state);
  const RunState back = restored(Json::parse(canonical(snapshot)), graphs);
  EXPECT_EQ(snapshot_json(back), snapshot);
  EXPECT_EQ(state_fingerprint(back), state_fingerprint(state));
}

TEST(Snapshot, a_pause_without_a_reason_leaves_what_it_left_before) {
  RunState state = full_state(known_graphs());
  state.pause_reason.clear();
  EXPECT_FALSE(snapshot_json(state).contains("pause_reason"));
}

TEST(Snapshot, an_empty_state_comes_back) {
  const RunState state;
  EXPECT_EQ(state_fingerprint(restored(snapshot_json(state), Graphs{})), state_fingerprint(state));
}

TEST(Snapshot, what_it_holds_is_the_state_itself) {
  const Graphs graphs = known_graphs();
  const RunState back = restored(snapshot_json(full_state(graphs)), graphs);
  EXPECT_EQ(back.graph, graphs.by_version("v1"));
  EXPECT_EQ(back.input, R"({"n":18446744073709551615})");
  EXPECT_EQ(back.pause_reason, "night");
  EXPECT_EQ(back.options, full_state(graphs).options);
  EXPECT_EQ(back.parent, full_state(graphs).parent);
  EXPECT_EQ(back.branches.at(1).data.composed(*back.graph),
            Json::parse(R"({"list":[1,2],"total":4,"best":3,"all":{"x":1,"y":2},"free":null})"));
  EXPECT_EQ(back.branches.at(2).data.composed(*back.graph),
            Json({{"list", "no list"}, {"total", "no number"}, {"all", 1}}));
  EXPECT_EQ(back.branches.at(2).at_join, 0);
  EXPECT_EQ(back.branches.at(2).at_end, 1);
  EXPECT_EQ(back.branches.at(1).at_join, -1);
  EXPECT_EQ(back.branches.at(1).cache.at("key").patch, R"({"n":1})");
  EXPECT_EQ(back.branches.at(1).plan.by_id, some_plan().by_id);
  EXPECT_EQ(back.steps.at(3).map.doomed, (std::set<std::int32_t>{1, 5}));
  EXPECT_EQ(back.steps.at(3).brought, Json(nullptr));
  EXPECT_EQ(back.steps.at(3).run_at, never_us);
  EXPECT_EQ(back.questions.at("q3").fallback, Json(nullptr));
  EXPECT_EQ(back.questions.at("q4").fallback, std::nullopt);
  EXPECT_EQ(back.signals.at("go").at(1).id, "s2");
}

TEST(Snapshot, every_field_shows_in_the_fingerprint) {
  const Graphs graphs = known_graphs();
  const Json sound = snapshot_json(full_state(graphs));
  const Json flat = sound.flatten();
  std::size_t tried = 0;
  for (const auto& entry : flat.items()) {
    if (!entry.value().is_number_integer() || entry.key() == "/fold") continue;
    Json changed = sound;
    changed[Json::json_pointer(entry.key())] = entry.value() == 77 ? 78 : 77;
    const RunState state = restored(changed, graphs);
    EXPECT_NE(state_fingerprint(state), state_fingerprint(full_state(graphs))) << entry.key();
    ++tried;
  }
  EXPECT_GT(tried, 30u);
}

TEST(Snapshot, an_unknown_graph_or_fold_is_unsupported) {
  const Json snapshot = snapshot_json(full_state(known_graphs()));
  const auto unknown = restore_snapshot(snapshot, Graphs{});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error(), (Error{Code::unsupported,
                                    "Expected the graph of a snapshot to be known, but there is no version \"v1\"."}));
  Json newer = snapshot;
  newer["fold"] = fold_version + 1;
  const auto refused = restore_snapshot(newer, known_graphs());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unsupported);
}

// A fork's first event holds one for good.
TEST(Snapshot, one_of_an_older_fold_version_is_read) {
  const Graphs graphs = known_graphs();
  RunState state = full_state(graphs);
  state.branches.at(1).cache.clear();
  Json snapshot = snapshot_json(state);
  snapshot["fold"] = 1;
  EXPECT_EQ(state_fingerprint(restored(snapshot, graphs)), state_fingerprint(state));
  snapshot["fold"] = 0;
  EXPECT_FALSE(restore_snapshot(snapshot, graphs).ok());
}

TEST(Snapshot, what_is_no_snapshot_is_corrupt) {
  const Graphs graphs = known_graphs();
  for (const char* text : {"null", "[]", "{}", "1", R"({"fold":1,"graph":"v1"})", R"({"fold":1,"graph":7})"}) {
    const auto state = restore_snapshot(Json::parse(text), graphs);
    ASSERT_FALSE(state.ok()) << text;
    EXPECT_EQ(state.error().code, Code::corrupt) << text;
  }
}

TEST(Snapshot, every_missing_or_spoiled_part_is_corrupt) {
  const Graphs graphs = known_graphs();
  const Json snapshot = snapshot_json(full_state(graphs));
  const std::set<std::string> free{"output", "parent", "continues", "fold"};  // any value, or none
  for (const auto& entry : snapshot.items()) {
    if (free.contains(entry.key())) continue;
    Json without = snapshot;
    without.erase(entry.key());
    const bool may_lack = entry.key() == "language" || entry.key() == "pause_reason";  // language 1; none was given
    EXPECT_EQ(restore_snapshot(without, graphs).ok(), may_lack) << entry.key();
    if (entry.key() == "input") continue;
    Json spoiled = snapshot;
    spoiled[entry.key()] = 1.5;
    EXPECT_FALSE(restore_snapshot(spoiled, graphs).ok()) << entry.key();
  }
  Json elsewhere = snapshot;
  elsewhere["steps"][0]["node"] = "nowhere";
  const auto state = restore_snapshot(elsewhere, graphs);
  ASSERT_FALSE(state.ok());
  EXPECT_EQ(state.error(), (Error{Code::corrupt, "Expected a snapshot of a run, but its graph has no node nowhere."}));
}

}  // namespace
}  // namespace cairn
