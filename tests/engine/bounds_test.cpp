// Bounds of names and of what workers report, and sums that are too much together.
#include "engine/bounds.hpp"

#include "engine/graph_parsing.hpp"
#include "tests/engine/trial.hpp"

namespace cairn {
namespace {

using Lines = std::vector<std::string>;

const std::string longest(name_bytes_max, 'n');
const std::string too_long = longest + "n";
const std::string with_nul("a\0b", 3);

const char* const one_step =
    R"({"name":"t","start":"a","limits":{"steps":9},"channels":{"n":{"reducer":"sum"}},"nodes":{
  "a":{"do":"x.a","labels":["ok"],"on":{"ok":"z","error":"z"}},"z":{"end":"done"}}})";

// --- names ----------------------------------------------------------------------------------------------------------

TEST(Bounds, A19_each_name_in_a_graph_is_bounded_in_bytes) {
  const auto graph_with = [](const std::string& name) {
    return Json{
        {"name", name},
        {"start", name},
        {"limits", {{"steps", 9}}},
        {"channels", {{name, {{"reducer", "append"}}}}},
        {"budgets", {{name, {{"cap", 1}}}}},
        {"nodes",
         {{name, {{"do", "x." + name}, {"labels", {name}}, {"queue", name}, {"spends", name}, {"on", {{name, "q"}}}}},
          {"q",
           {{"ask", {{"kind", name}, {"prompt", "?"}}}, {"into", name}, {"on", {{"answered", "w"}, {"expired", "w"}}}}},
          {"w", {{"wait", {{"signal", name}}}, {"on", {{"fired", "c"}}}}},
          {"c", {{"call", name}, {"on", {{"done", "z"}, {"failed", "z"}}}}},
          {"z", {{"end", "done"}}}}}};
  };
  Json longest_names = graph_with(longest);
  longest_names["nodes"][longest]["do"] = "x.y";
  EXPECT_EQ(graph_faults(longest_names, {}), Lines{});
  const Lines faults = graph_faults(graph_with(too_long), {});
  for (const char* name :
       {"the graph's name", "the name of a channel", "the name of a budget", "the name of a node",
        "the queue of a node", "the label of an edge", "the label of a handler", "the kind of a question",
        "the channel of \"into\"", "the signal of a node", "the name of a handler", "the graph that node \"c\" calls"})
    EXPECT_TRUE(std::any_of(faults.begin(), faults.end(), [&](const std::string& fault) {
      return fault.starts_with(std::string("Expected at most 1000 bytes as ") + name);
    })) << name;
  Json nul = graph_with("a");
  nul["nodes"]["a"]["queue"] = with_nul;
  EXPECT_FALSE(graph_faults(nul, {}).empty());
}

TEST(Bounds, A19_names_of_commands_are_bounded_in_bytes) {
  Trial trial(one_step);
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  for (const Tags& tags : {Tags{{too_long, "v"}}, Tags{{"k", too_long}}}) {
    start.tags = tags;
    EXPECT_EQ(trial.refused(start).code, Code::limit);
  }
  start.tags = {{"k", with_nul}};
  EXPECT_EQ(trial.refused(start).code, Code::invalid);
  start.tags = {{longest, longest}};
  trial.then(start);
  EXPECT_EQ(trial.refused(SendSignal{too_long, 1, ""}).code, Code::limit);
  EXPECT_EQ(trial.refused(SendSignal{"s", 1, too_long}).code, Code::limit);
  EXPECT_EQ(trial.refused(SendSignal{with_nul, 1, ""}).code, Code::invalid);
  EXPECT_EQ(trial.refused(SendSignal{"s", with_nul, ""}).code, Code::invalid);
  trial.then(SendSignal{longest, 1, longest});
}

// --- what a worker reports -------------------------------------------------------------------------------------------

TEST(Bounds, A19_a_name_a_depth_or_a_size_beyond_the_bounds_is_a_failed_attempt) {
  const std::string deep = std::string(300, '[') + std::string(300, ']');
  const std::string large = "\"" + std::string(facts_bytes_max / 2, 'x') + "\"";
  const auto record = [](const std::string& value) {
    return Record{RecordKind::model_called, "{\"reply\":" + value + "}"};
  };
  SubGoalOpened nested_goal = sub_goal("g");
  nested_goal.inputs["x"] = nested(250);
  const std::vector<std::vector<Fact>> unfit = {
      {sub_goal(too_long)},
      {sub_goal("g", "echo", {too_long})},
      {sub_goal(with_nul)},
      {nested_goal},
      {TaskDecomposed{too_long, "", 0, {}, {}, 0}},
      {PlanCreated{1, "goal", {{"id", "title", {}, nested(250)}}}},
      {PlanCreated{1, with_nul, {}}},
      {BudgetExhausted{too_long, 1, 1}},
      {record(deep)},
      {record(R"("a\u0000b")")},
      {record(large), record(large), record(large)},
  };
  for (const std::vector<Fact>& facts : unfit) {
    Trial trial(one_step);
    trial.replay_every = 100;
    trial.start();
    const Lines lines = trial.complete(1, "ok", "{}", facts);
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.front(), "1 step_failed a attempt 1 invalid error -> z") << "and nothing of it is recorded";
  }
  Trial trial(one_step);
  trial.start();
  trial.complete(1, "ok", "{}", {record(R"("a\\u0000b")"), record(nested(100).dump())});
  EXPECT_EQ(trial.state.status, RunStatus::done) << "a backslash before it: that is no NUL";
}

TEST(Bounds, A19_a_nul_in_an_outcome_is_a_failed_attempt_and_in_a_sentence_it_becomes_readable) {
  Trial trial(R"({"name":"t","start":"a","limits":{"steps":9},"nodes":{
    "a":{"do":"x.a","labels":["ok"],"retry":{"attempts":4},"on":{"ok":"z"}},"z":{"end":{"status":"done","reason":"$why"}}}})");
  trial.start();
  for (const Json& patch : {Json{{"why", with_nul}}, Json{{"why", {{with_nul, 1}}}}})
    EXPECT_EQ(trial.then(CompleteStep{1, trial.state.steps.at(1).attempt, {"ok", patch, {}}, 7, 0, 0}).size(), 1u);
  trial.then(CompleteStep{1, 3, {with_nul, Json::object(), {}}, 7, 0, 0});
  EXPECT_EQ(trial.state.steps.at(1).message.find('\0'), std::string::npos);
  trial.then(FailStep{1, 4, {with_nul, with_nul + std::string(100'000, 'x'), true, {}}, 7, 0});
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_EQ(trial.state.reason.find('\0'), std::string::npos);
  EXPECT_NE(trial.state.reason.find("failed: a\uFFFDb: a\uFFFDb"), std::string::npos);
  EXPECT_LT(trial.state.reason.size(), message_bytes_max + 100);
}

TEST(Bounds, A19_a_tool_whose_queue_has_too_long_a_name_admits_nothing) {
  Trial trial(one_step);
  trial.tools["echo"].queue = too_long;
  trial.start();
  const Lines lines = trial.complete(1, "ok", "{}", {sub_goal("g")});
  EXPECT_NE(lines.front().find("sub_goal_rejected g"), std::string::npos) << lines.front();
}

// --- sums and edits -------------------------------------------------------------------------------------------------

TEST(Sums, A19_sums_that_are_too_much_together_leave_the_join_by_error_whoever_was_last) {
  constexpr const char* half = R"({"n":4611686018427387904})";  // 2^62
  for (const bool left_is_last : {false, true}) {
    Trial trial(R"({"name":"t","start":"f","limits":{"steps":9},"channels":{"n":{"reducer":"sum"}},"nodes":{
      "f":{"do":"x.f","labels":["ok"],"on":{"ok":["l","r"]}},
      "l":{"do":"x.l","labels":["ok"],"on":{"ok":"j"}},"r":{"do":"x.r","labels":["ok"],"on":{"ok":"j"}},
      "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z","error":"sorry"}},
      "sorry":{"do":"x.s","labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
    trial.start();
    trial.complete(1, "ok");
    trial.complete(left_is_last ? 3 : 2, "ok", half);
    const Lines lines = trial.complete(left_is_last ? 2 : 3, "ok", half);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines.back(), "4 step_failed j attempt 1 invalid error -> sorry");
    EXPECT_NE(trial.state.steps.at(5).given["message"].get<std::string>().find("sum fits 64 bits"), std::string::npos);
  }
}

TEST(Sums, A19_sums_that_are_too_much_with_what_was_there_before_the_fan_out_are_found_at_an_inner_join) {
  Trial trial(R"({"name":"t","start":"f","limits":{"steps":20},"channels":{"n":{"reducer":"sum"}},"nodes":{
    "f":{"do":"x.f","labels":["ok"],"on":{"ok":["g","r"]}},
    "g":{"do":"x.g","labels":["ok"],"on":{"ok":["a","b"]}},
    "a":{"do":"x.a","labels":["ok"],"on":{"ok":"i"}},"b":{"do":"x.b","labels":["ok"],"on":{"ok":"i"}},
    "i":{"do":"x.i","join":true,"labels":["ok"],"on":{"ok":"j"}},
    "r":{"do":"x.r","labels":["ok"],"on":{"ok":"j"}},
    "j":{"do":"x.j","join":true,"labels":["ok"],"on":{"ok":"z"}},"z":{"end":"done"}}})");
  trial.start(R"({"n":9223372036854775800})");
  trial.complete(1, "ok");
  trial.complete(2, "ok");
  trial.complete(4, "ok", R"({"n":5})");
  trial.complete(5, "ok", R"({"n":5})");
  EXPECT_EQ(trial.state.status, RunStatus::failed);
  EXPECT_NE(trial.state.reason.find("Step 6 (i) failed: invalid"), std::string::npos) << trial.state.reason;
}

TEST(Bounds, a_reason_is_of_500_bytes_without_nul) {
  EXPECT_TRUE(check_reason(std::string(reason_bytes_max, 'r')).ok());
  EXPECT_EQ(check_reason(std::string(501, 'r')).error().message,
            "Expected a reason of at most 500 bytes, but found 501.");
  EXPECT_EQ(check_reason(with_nul).error().message, "Expected text without NUL, but a reason has one.");
}

TEST(Sums, A19_a_sum_of_doubles_that_is_not_finite_is_a_failed_attempt) {
  Trial trial(one_step);
  trial.start(R"({"n":1.7e308})");
  EXPECT_EQ(trial.complete(1, "ok", R"({"n":1.7e308})").front(), "1 step_failed a attempt 1 invalid error -> z");
}

TEST(Sums, A19_an_edit_does_not_go_round_the_reducer) {
  Trial trial(one_step);
  trial.start(R"({"n":1})");
  EXPECT_EQ(trial.refused(EditChannels{Json{{"n", "text"}}}).code, Code::invalid);
  trial.then(EditChannels{Json{{"n", 7}, {"other", "text"}}});
  EXPECT_EQ(read_channel(trial.state, root_branch, "n"), 7);
}

}  // namespace
}  // namespace cairn
