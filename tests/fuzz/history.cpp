// Events in any order, about steps and branches that may not be: the fold is a state or says that the history is
// corrupt, and whatever is a state can be shown, kept, restored and queued.
#include <array>

#include "engine/corrupt_history.hpp"
#include "engine/decide.hpp"
#include "engine/evolve.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/job.hpp"
#include "engine/run_json.hpp"
#include "engine/snapshot.hpp"
#include "tests/fuzz/targets.hpp"

namespace cairn::fuzz {
namespace {

// Bytes as small choices; zeros when there are no more.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::uint32_t below(std::uint32_t n) {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte % n;
  }
  template <std::size_t n>
  const char* of(const std::array<const char*, n>& words) {
    return words[below(n)];
  }

 private:
  std::string_view bytes_;
};

constexpr std::array nodes = {"a", "left", "right", "join", "plan", "work", "q", "w", "kid", "z", "", "nowhere"};
constexpr std::array labels = {"ok", "answered", "fired", "joined", "done", "error", "", "other"};
constexpr std::array goals = {"g1", "g2", "g3", ""};
constexpr std::array patches = {"{}", R"({"x":1})", R"({"list":[1]})", R"({"sum":2})", R"({"list":5})", "[]"};
constexpr std::array questions = {"q7", "q1", "q2", "q8", ""};

GraphRef graph_here() {
  static const GraphRef graph =
      *parse_graph(Json::parse(R"({"name": "g", "start": "a", "limits": {"steps": 50}, "budgets": {"coins": {"cap": 2}},
        "channels": {"list": {"reducer": "append"}, "sum": {"reducer": "sum"}}, "nodes": {
        "a": {"do": "x.y", "labels": ["ok"], "on": {"ok": ["left", "right"], "error": "plan"}},
        "left": {"do": "x.y", "labels": ["ok"], "spends": "coins", "on": {"ok": "join", "exhausted": "join"}},
        "right": {"do": "x.y", "labels": ["ok"], "retry": {"attempts": 2}, "on": {"ok": "join"}},
        "join": {"do": "x.y", "labels": ["ok"], "join": true, "on": {"ok": "plan"}},
        "plan": {"do": "x.y", "labels": ["ok"], "on": {"ok": "work"}},
        "work": {"map": "sub_goals", "on": {"joined": "q"}},
        "q": {"ask": {"kind": "question", "prompt": "?"}, "on": {"answered": "w", "expired": "w"}},
        "w": {"wait": {"signal": "s"}, "on": {"fired": "kid"}},
        "kid": {"call": "g", "on": {"done": "z", "failed": "z"}},
        "z": {"end": "done"}}})"),
                   "v1", {});
  return graph;
}

const Graphs& graphs_here() {
  static const Graphs graphs = [] {
    Graphs made;
    made.add(graph_here(), true);
    return made;
  }();
  return graphs;
}

std::vector<std::string> next_of(Choices& choices) {
  std::vector<std::string> next;
  for (std::uint32_t n = choices.below(4); n > 0; --n) next.emplace_back(choices.of(nodes));
  return next;
}

GoalStatus goal_status(Choices& choices) { return static_cast<GoalStatus>(choices.below(5)); }
RunStatus run_status(Choices& choices) { return static_cast<RunStatus>(choices.below(5)); }

RunStarted started(Choices& choices) {
  RunStarted event;
  event.graph = "g";
  event.version = choices.below(20) == 0 ? "v9" : "v1";
  event.input = choices.of(patches);
  return event;
}

RunFinished finished(Choices& choices) {
  RunFinished event;
  event.status = run_status(choices);
  event.closed.steps.push_back(static_cast<StepId>(choices.below(9)));
  event.closed.questions.emplace_back(choices.of(questions));
  return event;
}

RunEnding ending(Choices& choices) {
  RunEnding event;
  event.status = run_status(choices);
  event.next = choices.of(nodes);
  return event;
}

StepSucceeded succeeded(Choices& choices) {
  StepSucceeded event;
  event.node = choices.of(nodes);
  event.label = choices.of(labels);
  event.patch = choices.of(patches);
  event.next = next_of(choices);
  event.attempt = static_cast<std::int32_t>(choices.below(3));
  return event;
}

StepFailed failed(Choices& choices) {
  StepFailed event;
  event.node = choices.of(nodes);
  event.attempt = static_cast<std::int32_t>(choices.below(3));
  event.error = choices.of(labels);
  const std::uint32_t what = choices.below(3);
  if (what == 0) event.retry_at = 5;
  if (what == 1) event.label = choices.of(labels);
  if (what == 1) event.next = next_of(choices);
  return event;
}

SubGoalOpened goal_opened(Choices& choices) {
  SubGoalOpened event;
  event.sub_goal = choices.of(goals);
  event.tool = choices.below(4) == 0 ? "" : "echo";
  event.parent = choices.of(goals);
  for (std::uint32_t n = choices.below(3); n > 0; --n) event.after.emplace_back(choices.of(goals));
  event.inputs = {{"in", {{"from_sub_goal", choices.of(goals)}, {"slot", "x"}}}};
  return event;
}

SubGoalClosed goal_closed(Choices& choices) {
  SubGoalClosed event;
  event.sub_goal = choices.of(goals);
  event.status = goal_status(choices);
  event.outputs = choices.of(patches);
  event.attempt = static_cast<std::int32_t>(choices.below(3));
  return event;
}

PlanRevised revised(Choices& choices) {
  static const std::array values = {Json("g1"),    Json("g2"),          Json(5),
                                    Json(nullptr), Json::array({"g1"}), Json::object()};
  static constexpr std::array ops = {"add", "update", "remove", "mend"};
  Json change = {{"op", choices.of(ops)}};
  for (const char* key : {"id", "title", "parent", "after"})
    if (choices.below(3) > 0) change[key] = values[choices.below(values.size())];
  PlanRevised event;
  event.version = choices.below(4);
  event.changes = choices.below(8) == 0 ? change : Json::array({change});
  return event;
}

EventBody plan_event(Choices& choices) {
  const std::vector<PlanChild> children = {{choices.of(goals), "t", {choices.of(goals)}, nullptr}};
  switch (choices.below(6)) {
    case 0:
      return goal_opened(choices);
    case 1:
      return goal_closed(choices);
    case 2:
      return SubGoalRejected{choices.of(goals), "echo", "no", {}};
    case 3:
      return PlanCreated{1, "goal", children};
    case 4:
      return revised(choices);
    default:
      return TaskDecomposed{choices.of(goals), "m", 1, children, {}, 0};
  }
}

EventBody outside_event(Choices& choices) {
  switch (choices.below(10)) {
    case 0:
      return RunPaused{};
    case 1:
      return RunResumed{};
    case 2:
      return RunReopened{};
    case 3:
      return RunMoved{choices.below(2) == 0 ? "v1" : "v9"};
    case 4:
      return ChannelsEdited{choices.of(patches)};
    case 5:
      return finished(choices);
    case 6:
      return SignalReceived{"s", 5, choices.of(goals)};
    case 7:
      if (choices.below(2) == 0) return ending(choices);
      return TimerFired{};
    case 8:
      return started(choices);
    default:
      return Record{RecordKind::loop_detected, "{}"};
  }
}

EventBody body_of(Choices& choices) {
  switch (choices.below(12)) {
    case 0:
    case 1:
    case 2:
      return succeeded(choices);
    case 3:
      return failed(choices);
    case 4:
    case 5:
      return plan_event(choices);
    case 6:
      return QuestionAsked{choices.of(questions), "question", "?", nullptr, {}, {}};
    case 7:
      return QuestionAnswered{choices.of(questions), 5, "ann"};
    case 8:
      return QuestionExpired{choices.of(questions)};
    case 9:
      return ChildStarted{RunId{}, "g", "v1"};
    case 10:
      return ChildFinished{RunId{}, run_status(choices), "", 5};
    default:
      return outside_event(choices);
  }
}

}  // namespace

void history(std::string_view bytes) {
  const Graphs& graphs = graphs_here();
  Choices choices(bytes);
  RunState state;
  std::vector<BranchId> touched;
  Event event;
  event.seq = 1;
  event.body = started(choices);
  try {
    for (;; ++event.seq) {
      evolve(state, event, graphs, touched);
      if (choices.empty()) break;
      event.at_us += 10;
      event.step = static_cast<StepId>(choices.below(10));
      event.body = body_of(choices);
    }
    jobs_of(state);
    CHECK(state_json(state).is_object());
    const Result<RunState> restored = carried_state(snapshot_json(state), graphs);
    CHECK(restored.ok());
    CHECK(state_fingerprint(*restored) == state_fingerprint(state));
  } catch (const CorruptHistory&) {
  }
}

std::string state_after(std::string_view bytes) {
  Choices choices(bytes);
  RunState state;
  std::vector<BranchId> touched;
  Event event;
  event.seq = 1;
  event.body = RunStarted{};
  std::get<RunStarted>(event.body).graph = "g";
  std::get<RunStarted>(event.body).version = "v1";
  evolve(state, event, graphs_here(), touched);
  while (!choices.empty()) {
    const RunState before = state;
    ++event.seq;
    event.step = static_cast<StepId>(choices.below(10));
    event.body = body_of(choices);
    try {
      evolve(state, event, graphs_here(), touched);
      (void)snapshot_json(state);
    } catch (const CorruptHistory&) {
      state = before;
      --event.seq;
    }
  }
  return snapshot_json(state).dump();
}

namespace {

// Its values are read late: one may turn out to be none that a history has.
void go_on_with(RunState& restored) {
  try {
    jobs_of(restored);
    CHECK(state_json(restored).is_object());
    const Result<RunState> again = carried_state(snapshot_json(restored), graphs_here());
    CHECK(again.ok() && state_fingerprint(*again) == state_fingerprint(restored));
    Context context;
    context.now_us = restored.last_at;
    for (const Command& command : {Command(Cancel{"enough"}), Command(Reopen{})})
      (void)decide(restored, command, context, graphs_here());
  } catch (const CorruptHistory&) {
  }
}

}  // namespace

// A restored state can be shown, kept, queued and gone on with.
void state(std::string_view bytes) {
  const Result<Json> value = parse_json(bytes, "the state");
  if (!value) return;
  Result<RunState> restored = carried_state(*value, graphs_here());
  if (restored) go_on_with(*restored);
}

}  // namespace cairn::fuzz
