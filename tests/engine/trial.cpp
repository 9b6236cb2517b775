#include "tests/engine/trial.hpp"

#include "engine/blame.hpp"
#include "engine/codec.hpp"
#include "engine/evolve.hpp"
#include "engine/follow.hpp"
#include "engine/graph_parsing.hpp"
#include "engine/replay_check.hpp"

namespace cairn {
namespace {

std::string names(const std::vector<std::string>& next) {
  std::string text;
  for (const std::string& name : next) text += " " + name;
  return text.empty() ? text : " ->" + text;
}

std::string route(const std::string& label, const std::vector<std::string>& next) {
  return (label.empty() ? "" : " " + label) + names(next);
}

struct Noted {
  std::string operator()(const RunStarted& e) const { return " " + e.graph + " " + e.input; }
  std::string operator()(const RunFinished& e) const {
    return " " + std::string(to_string(e.status)) + (e.reason.empty() ? "" : " (" + e.reason + ")") + " " + e.output;
  }
  std::string operator()(const RunEnding& e) const {
    return " " + std::string(to_string(e.status)) + (e.reason.empty() ? "" : " (" + e.reason + ")") + " -> " + e.next;
  }
  std::string operator()(const StepSucceeded& e) const {
    return " " + e.node + route(e.label, e.next) + (e.patch == "{}" ? "" : " " + e.patch) +
           (e.took.empty() ? "" : " took " + e.took);
  }
  std::string operator()(const StepFailed& e) const {
    return " " + e.node + " attempt " + std::to_string(e.attempt) + " " + e.error +
           (e.retry_at        ? " again"
            : e.label.empty() ? " for good"
                              : route(e.label, e.next));
  }
  std::string operator()(const SignalReceived& e) const { return " " + e.name + " " + e.id; }
  std::string operator()(const ChildStarted& e) const { return " " + e.graph; }
  std::string operator()(const ChildFinished& e) const {
    return " " + std::string(to_string(e.status)) + " " + canonical(e.output);
  }
  std::string operator()(const QuestionAsked& e) const { return " " + e.question + " " + canonical(e.prompt); }
  std::string operator()(const QuestionAnswered& e) const {
    return " " + e.question + " " + canonical(e.value) + " by " + e.by;
  }
  std::string operator()(const QuestionExpired& e) const { return " " + e.question; }
  std::string operator()(const SubGoalOpened& e) const { return " " + e.sub_goal + " " + e.queue; }
  std::string operator()(const SubGoalRejected& e) const { return " " + e.sub_goal + ": " + e.reason; }
  std::string operator()(const SubGoalClosed& e) const {
    return " " + e.sub_goal + " " + std::string(to_string(e.status)) + (e.error.empty() ? "" : " " + e.error);
  }
  std::string operator()(const BudgetExhausted& e) const {
    return " " + e.name + " " + std::to_string(e.used) + "/" + std::to_string(e.cap);
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

RunId run_number(std::uint32_t n) {
  RunId id = *parse_run_id("01900000-0000-7000-8000-000000000000");
  return plus(id, n);
}

GraphRef parsed_graph(const std::string& text) {
  const Result<Json> json = parse_json(text, "the graph");
  EXPECT_TRUE(json.ok()) << json.error().message;
  Result<GraphRef> graph = parse_graph(*json, "version of " + json->value("name", ""), {});
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return *graph;
}

}  // namespace

Json nested(int levels) {
  Json value = 1;
  for (int level = 0; level < levels; ++level) value = Json::array({std::move(value)});
  return value;
}

std::string line_of(const Event& event) {
  return (event.step == 0 ? "" : std::to_string(event.step) + " ") + std::string(type_of(event.body)) +
         std::visit(Noted{}, event.body);
}

Trial::Trial(const std::string& graph_json) {
  add_graph(graph_json);
  state.id = run_number(0);
}

Json Trial::with_of(StepId id) const {
  const Step& step = state.steps.at(id);
  return *resolved(state, step.branch, work_of(state, step)->with);
}

void Trial::add_graph(const std::string& graph_json) { graphs.add(parsed_graph(graph_json), true); }

Result<Decision> Trial::when(Command command) {
  Context context;
  context.now_us = now_us;
  context.actor = "test";
  context.id_base = run_number(++commands_ * 1000);
  context.draw = draw;
  context.tools = &tools;
  Result<Decision> decision = decide(state, command, context, graphs);
  if (!decision) return decision;
  for (const Event& event : decision->events) history.push_back(event);
  commits.push_back(history.size());
  for (const BranchId branch : decision->touched) {
    queue.erase(branch);
    if (auto job = job_of(state, branch)) queue.emplace(branch, *job);
  }
  for (Decision::Child& child : decision->children) children.push_back(child);
  compare();
  return decision;
}

void Trial::compare() const {
  std::vector<Job> kept;
  for (const auto& [branch, job] : queue) kept.push_back(job);
  EXPECT_EQ(kept, jobs_of(state)) << "the queue kept at each commit is not the one computed whole";
  EXPECT_FALSE(follow(state, whole_run));
  for (const auto& [id, branch] : state.branches)
    EXPECT_FALSE(follow(state, id)) << "branch " << id << " is not settled";
  if (commands_ % replay_every == 0 || is_ended(state.status)) compare_replay();
  if (is_ended(state.status)) compare_blame();
}

void Trial::compare_blame() const {
  const auto reads_all = [](const std::string&) {
    HandlerReads reads;
    reads.all = reads.plan = true;
    return reads;
  };
  Blame blame(state.id, graphs, reads_all);
  for (const Event& event : history) blame.add(event);
  EXPECT_EQ(state_fingerprint(blame.state()), state_fingerprint(state)) << "the fold under a slice differs";
  const Result<BlameSlice> slice = blame.slice({});
  ASSERT_TRUE(slice.ok()) << slice.error().message;
  for (const BlamedOutcome& cause : slice->causes) {
    EXPECT_LT(cause.seq, slice->of.seq);
    EXPECT_GT(cause.distance, 0);
    for (const BlameLink& link : cause.leads_to) EXPECT_LT(cause.seq, link.seq) << "a cause comes before its effect";
  }
}

void Trial::compare_decisions() const {
  ReplayCheck check(state.id, graphs);
  std::size_t from = 0;
  for (const std::size_t to : commits) {
    if (!check.add({history.data() + from, to - from})) break;
    from = to;
  }
  if (const auto& how = check.divergence())
    ADD_FAILURE() << "decided otherwise at event " << how->seq << ": " << how->says << "\n"
                  << how->recorded << "\n"
                  << how->again;
}

void Trial::compare_replay() const {
  compare_decisions();
  RunState replayed;
  replayed.id = state.id;
  std::vector<BranchId> touched;
  for (const Event& event : history) {
    const EventType type = event_type(event.body);
    Result<EventBody> body = decode_payload(type.number, type.version, encode_payload(event.body));
    ASSERT_TRUE(body.ok()) << body.error().message;
    evolve(replayed, {event.seq, event.at_us, event.step, event.actor, *std::move(body)}, graphs, touched);
  }
  EXPECT_EQ(state_fingerprint(replayed), state_fingerprint(state)) << "the replay differs";
  const Result<RunState> restored = carried_state(parse_stored(canonical(snapshot_json(state))), graphs);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(state_fingerprint(*restored), state_fingerprint(state)) << "the snapshot differs";
}

std::vector<std::string> Trial::then(Command command) {
  const Result<Decision> decision = when(std::move(command));
  EXPECT_TRUE(decision.ok()) << decision.error().message;
  std::vector<std::string> lines;
  for (const Event& event : decision->events) lines.push_back(line_of(event));
  return lines;
}

Error Trial::refused(Command command) {
  const std::string before = state.graph == nullptr ? "" : state_fingerprint(state);
  const Result<Decision> decision = when(std::move(command));
  EXPECT_FALSE(decision.ok()) << "it was not refused";
  EXPECT_EQ(before, state.graph == nullptr ? "" : state_fingerprint(state)) << "a refusal changed the state";
  return decision.error();
}

std::vector<std::string> Trial::start(const std::string& input, Options options) {
  StartRun start;
  start.run = state.id;
  start.graph = graphs.by_version("version of t") != nullptr ? "t" : "main";
  start.input = parse_stored(input);
  start.options = std::move(options);
  return then(start);
}

std::vector<std::string> Trial::complete(StepId step, const std::string& label, const std::string& patch,
                                         std::vector<Fact> facts) {
  const Step* open = find_step(state, step);
  EXPECT_NE(open, nullptr) << "step " << step << " is not open";
  return then(CompleteStep{
      step, open == nullptr ? 1 : open->attempt, {label, parse_stored(patch), std::move(facts)}, 7, now_us, 0});
}

std::vector<std::string> Trial::fail(StepId step, const std::string& error, bool retryable) {
  const Step* open = find_step(state, step);
  EXPECT_NE(open, nullptr) << "step " << step << " is not open";
  const bool is_lost = error == lost_error;
  return then(
      FailStep{step, open == nullptr ? 1 : open->attempt, {error, "it broke", retryable, {}}, 7, now_us, is_lost});
}

GraphRef version_of(const std::string& text, const std::string& version) {
  Result<GraphRef> graph = parse_graph(parse_stored(text), version, {});
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  return *graph;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

SubGoalOpened sub_goal(std::string id, std::string tool, std::vector<std::string> after, const std::string& inputs) {
  SubGoalOpened goal;
  goal.sub_goal = std::move(id);
  goal.tool = std::move(tool);
  goal.after = std::move(after);
  goal.inputs = parse_stored(inputs);
  return goal;
}

}  // namespace cairn
