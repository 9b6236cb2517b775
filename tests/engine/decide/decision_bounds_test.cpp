// The bounds of one decision: depths, sizes, numbers of events and of runs.
#include <algorithm>

#include "engine/bounds.hpp"
#include "engine/closing_events.hpp"
#include "tests/engine/decide/decided_graphs.hpp"
#include "tests/engine/trial.hpp"
#include "tests/thread_seconds.hpp"

namespace cairn {
namespace {

using namespace decided;
using Lines = std::vector<std::string>;

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
  BoundedStart(const std::string& graph, std::size_t children_max, std::size_t events_max,
               const Json& input = Json::object()) {
    const Trial trial(graph);
    StartRun start;
    start.run = trial.state.id;
    start.graph = "t";
    start.input = input;
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

TEST(Decide, H3_a_call_that_is_given_too_much_fails_with_limit_and_starts_nothing) {
  const Json call = {{"call", "t"}, {"with", {{"many", Json(2'000, "$a")}}}, {"on", {{"done", "z"}, {"failed", "z"}}}};
  const Json graph = {
      {"name", "t"}, {"start", "c"}, {"limits", {{"steps", 9}}}, {"nodes", {{"c", call}, {"z", {{"end", "done"}}}}}};
  const BoundedStart start(graph.dump(), 50, 100, {{"a", std::string(30'000, 'x')}});
  EXPECT_TRUE(start.decision.children.empty());
  EXPECT_EQ(start.state.status, RunStatus::failed);
  EXPECT_NE(start.state.reason.find("limit"), std::string::npos) << start.state.reason;
}

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

// A6: each step copied the whole list, twice.
TEST(Decide, A6_what_a_step_appends_costs_what_is_added_and_not_what_is_there) {
  const Trial trial(R"({"name":"t","start":"a","limits":{"steps":1000000},
    "channels":{"list":{"reducer":"append"},"all":{"reducer":"merge"},"most":{"reducer":"max"}},"nodes":{
    "a":{"do":"x.y","labels":["ok","end"],"on":{"ok":"a","end":"z"}},"z":{"end":"done"}}})");
  StartRun start;
  start.run = trial.state.id;
  start.graph = "t";
  const Context context{.now_us = trial.now_us, .actor = "test", .id_base = plus(start.run, 1)};
  const std::string kilobyte(1'000, 'x');
  const auto seconds_of = [&](int times) {
    RunState state;
    EXPECT_TRUE(decide(state, start, context, trial.graphs));
    const double began = test::thread_seconds();
    for (int n = 0; n < times; ++n) {
      const Json patch = {{"list", {kilobyte}}, {"all", {{"k" + std::to_string(n), kilobyte}}}, {"most", n}};
      const CompleteStep command{state.last_step, 1, {"ok", patch, {}, ""}, 1, context.now_us, 0};
      EXPECT_TRUE(decide(state, command, context, trial.graphs));
    }
    const double took = test::thread_seconds() - began;
    EXPECT_EQ(read_channel(state, root_branch, "list").size(), static_cast<std::size_t>(times));
    EXPECT_EQ(read_channel(state, root_branch, "all").size(), static_cast<std::size_t>(times));
    return took;
  };
  const double few = std::min({seconds_of(1'000), seconds_of(1'000), seconds_of(1'000)});
  EXPECT_LT(std::min(seconds_of(4'000), seconds_of(4'000)), 9 * few) << "four times as many; it was 16 times";
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

// H3: a sentence quotes the reference that its author wrote, and a circle that needs no worker wrote it 100,000 times:
// a graph of a megabyte took more than 12 GB of the process that started its run.
TEST(Decide, H3_sentences_of_failures_are_cut_and_counted_among_what_one_decision_holds) {
  const Json ask = {{"kind", "question"}, {"prompt", "$a/" + std::string(200'000, 'p')}};
  const Json graph = {{"name", "t"},
                      {"start", "q"},
                      {"limits", {{"steps", 1'000'000}}},
                      {"nodes",
                       {{"q", {{"ask", ask}, {"on", {{"answered", "z"}, {"expired", "z"}, {"error", "q"}}}}},
                        {"z", {{"end", "done"}}}}}};
  const BoundedStart start(graph.dump(), 50, 100'000);
  EXPECT_EQ(start.state.status, RunStatus::failed);
  EXPECT_NE(start.state.reason.find("bytes of values of one decision"), std::string::npos) << start.state.reason;
  std::size_t failures = 0;
  for (const Event& event : start.decision.events) {
    const auto* failed = std::get_if<StepFailed>(&event.body);
    if (failed == nullptr) continue;
    EXPECT_EQ(failed->message.size(), message_bytes_max);
    ++failures;
  }
  EXPECT_LE(failures, decision_bytes_max / message_bytes_max + 1);
  EXPECT_GT(failures, 1'000u) << "each bound is that of the decision";
}

// A circle of one node that fails each time, on a text of 900,000 bytes.
BoundedStart circle_of(const Json& node) {
  const Json graph = {{"name", "t"},
                      {"start", "c"},
                      {"limits", {{"steps", 1'000'000}}},
                      {"nodes", {{"c", node}, {"z", {{"end", "done"}}}}}};
  return {graph.dump(), 50, 100'000, {{"a", std::string(900'000, 'x')}}};
}

// H3: a question that composes too much was composed 100,000 times in a circle before the bound of events ended it,
// which took half an hour.
TEST(Decide, H3_what_references_compose_in_vain_counts_among_what_one_decision_holds) {
  const Json ask = {{"kind", "question"}, {"prompt", Json(2'000, "$a")}};
  const BoundedStart start = circle_of({{"ask", ask}, {"on", {{"answered", "z"}, {"expired", "z"}, {"error", "c"}}}});
  EXPECT_NE(start.state.reason.find("bytes of values of one decision"), std::string::npos) << start.state.reason;
  EXPECT_LT(start.decision.events.size(), 80u);
  EXPECT_GT(start.decision.events.size(), 60u);
}

TEST(Decide, H3_what_references_read_for_a_time_that_is_none_counts_likewise) {
  const BoundedStart start = circle_of({{"wait", {{"ms", "$a"}}}, {"on", {{"fired", "z"}, {"error", "c"}}}});
  EXPECT_NE(start.state.reason.find("bytes of values of one decision"), std::string::npos) << start.state.reason;
  EXPECT_LT(start.decision.events.size(), 1'300u);
  EXPECT_GT(start.decision.events.size(), 1'000u);
}

TEST(Decide, A12_names_of_the_graph_are_counted_among_what_one_decision_holds) {
  const std::string name(name_bytes_max, 'n');
  const Json loop = {{"map", "sub_goals"}, {"on", {{"joined", name}, {"partial", "z"}}}};
  const Json graph = {{"name", "t"},
                      {"start", name},
                      {"limits", {{"steps", 1'000'000}}},
                      {"nodes", {{name, loop}, {"z", {{"end", "done"}}}}}};
  const BoundedStart start(graph.dump(), 50, 100'000);
  EXPECT_NE(start.state.reason.find("bytes of values of one decision"), std::string::npos) << start.state.reason;
  EXPECT_LE(start.decision.events.size(), decision_bytes_max / (2 * name_bytes_max) + 2);
}

// The reason of an end may be a reference that leads nowhere.
TEST(Decide, H3_the_reason_of_an_end_that_cannot_be_composed_is_cut) {
  const Json graph = {{"name", "t"},
                      {"start", "z"},
                      {"limits", {{"steps", 5}}},
                      {"nodes", {{"z", {{"end", {{"status", "done"}, {"output", "$" + std::string(200'000, 'c')}}}}}}}};
  const BoundedStart start(graph.dump(), 50, 100'000);
  EXPECT_EQ(start.state.status, RunStatus::failed);
  EXPECT_EQ(start.state.reason.size(), message_bytes_max);
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

}  // namespace
}  // namespace cairn
