#include "ops/service/second_try.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <vector>

#include "engine/bounds.hpp"
#include "ops/answers/run_json.hpp"
#include "workers/runs/history.hpp"

namespace cairn {
namespace {

Error conflict(std::string sentence) { return {Code::conflict, std::move(sentence)}; }

// A reason may be of any form.
std::string as_sentence(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == ':')) text.pop_back();
  return text.empty() || std::string_view(".!?").find(text.back()) != std::string_view::npos ? text : text + ".";
}

// Each event with its commit, in order; `see` returns false to stop.
void each_event(Store& store, const RunId& run,
                const std::function<void(const EventRow& row, const Event& event)>& see) {
  constexpr std::int32_t page_events = 1'000;
  for (std::int64_t after = 0;;) {
    const std::vector<EventRow> page = store.events(run, after, page_events);
    for (const EventRow& row : page)
      if (const Result<Event> event = event_of(row)) see(row, *event);
    if (page.size() < static_cast<std::size_t>(page_events)) return;
    after = page.back().seq;
  }
}

// The last event before the commit of the last event that `is_it`; 0 if there is none.
std::int64_t end_before(Store& store, const RunId& run, const std::function<bool(const Event&)>& is_it) {
  std::int64_t commit = -1;
  std::int64_t begins_after = 0;  // the last event before the commit under way
  std::int64_t found = 0;
  std::int64_t last = 0;
  each_event(store, run, [&](const EventRow& row, const Event& event) {
    if (row.commit != commit) begins_after = last;
    commit = row.commit;
    last = row.seq;
    if (is_it(event)) found = begins_after;
  });
  return found;
}

// The first such event's commit instead of the last one's.
std::int64_t end_before_first(Store& store, const RunId& run, const std::function<bool(const Event&)>& is_it) {
  bool is_found = false;
  return end_before(store, run, [&](const Event& event) {
    if (is_found || !is_it(event)) return false;
    return is_found = true;
  });
}

// Whether the event is the failure of an item of the map step: the items' steps are later ones on its node.
bool fails_as_item(const Event& event, const CauseOfFailure& map) {
  if (event.step <= map.step) return false;
  if (const auto* failed = std::get_if<StepFailed>(&event.body))
    return failed->node == map.node && !failed->retry_at && failed->next.empty();
  const auto* closed = std::get_if<StepSucceeded>(&event.body);
  const bool is_end = closed != nullptr && closed->node == map.node && closed->next.empty();
  return is_end && (closed->label == "failed" || closed->label == "aborted");
}

// Whether the event is the failure of an attempt, a called run or a sub-goal of the step.
bool fails(const Event& event, StepId step, const std::vector<std::string>& goals) {
  if (const auto* goal = std::get_if<SubGoalClosed>(&event.body))
    return goal->status == GoalStatus::failed && std::find(goals.begin(), goals.end(), goal->sub_goal) != goals.end();
  if (event.step != step) return false;
  if (const auto* child = std::get_if<ChildFinished>(&event.body)) return child->status != RunStatus::done;
  return std::holds_alternative<StepFailed>(event.body);
}

// The sub-goals of a map step that failed.
std::vector<std::string> failed_goals(const RunState& state, StepId map) {
  std::vector<std::string> goals;
  for (const auto& [id, branch] : state.branches)
    for (const SubGoal& goal : branch.plan.goals)
      if (goal.map == map && goal.status == GoalStatus::failed) goals.push_back(goal.id);
  return goals;
}

// The event after which the failed step stood open for the last time; of a map, before the first of its sub-goals or
// items failed.
Result<std::int64_t> before_the_failure(Store& store, const RunState& state) {
  const std::string name = "run " + to_string(state.id);
  if (!state.cause)
    return conflict("Expected a failed step to try again, but " + name + " failed without one: " +
                    as_sentence(state.reason) + " `cairn reset` goes back to any node that it has left.");
  if (state.cause->error == "exhausted")
    return conflict("Expected a failure that another try may mend, but in " + name +
                    " a budget is used up: " + state.cause->message);
  const StepId step = state.cause->step;
  const NodeIndex node = state.graph->find(state.cause->node);
  const bool maps_items = node >= 0 && state.graph->node(node).items() != nullptr && state.cause->error == "partial";
  const std::vector<std::string> goals = failed_goals(state, step);
  const auto is_failure = [&](const Event& event) {
    return maps_items ? fails_as_item(event, *state.cause) : fails(event, step, goals);
  };
  const bool has_parts = maps_items || !goals.empty();
  const std::int64_t seq =
      has_parts ? end_before_first(store, state.id, is_failure) : end_before(store, state.id, is_failure);
  if (seq > 0) return seq;
  return conflict("Expected a moment before step " + std::to_string(step) + " failed in " + name +
                  ", but there is none.");
}

// The run that was forked there before; nothing if there is none.
std::optional<RunId> fork_at(Store& store, const RunId& run, std::int64_t seq) {
  RunFilter family;
  family.lineage = run;
  family.limit = 10'000;
  for (const RunRow& row : store.runs(family))
    if (row.forked_from && row.forked_from->run == run && row.forked_from->seq == seq) return row.id;
  return std::nullopt;
}

// A moment at which the run was paused must not pause the fork, unless the run still is.
Status resumed_as(Client& client, const RunState& origin, const RunId& fork) {
  if (origin.status == RunStatus::paused) return Done{};
  const Result<RunState> state = client.state(fork);
  if (!state) return state.error();
  if (state->status != RunStatus::paused) return Done{};
  const Result<Done> resumed = client.command(fork, Resume{});
  return resumed ? Status(Done{}) : Status(resumed.error());
}

Result<SecondTry> forked(Client& client, Store& store, const RunState& state, std::int64_t seq,
                         const SecondTryOptions& options) {
  if (state.parent)
    return conflict("Expected a run that no other called, but run " + to_string(state.id) + " was called by " +
                    to_string(state.parent->run) + "; try that one again.");
  if (const std::optional<RunId> earlier = fork_at(store, state.id, seq))
    return conflict("Expected a run that was not tried again yet, but from event " + std::to_string(seq) + " of run " +
                    to_string(state.id) + " goes on " + to_string(*earlier) + ".");
  if (options.is_dry) return SecondTry{state.id, seq};
  if (options.may_fork)
    if (Status may = options.may_fork(state); !may) return may.error();
  const Result<Started> started = client.fork(state.id, {.seq = seq, .reason = options.reason});
  if (!started) return started.error();
  if (const Status moves = resumed_as(client, state, started->run); !moves) return moves.error();
  return SecondTry{started->run, seq};
}

// A run that cannot be reopened, because it failed without a failed step; any other keeps its refusal.
Result<SecondTry> tried_as_fork(Client& client, Store& store, const RunId& run, const Error& refusal,
                                const SecondTryOptions& options) {
  if (refusal.code != Code::conflict) return refusal;
  const Result<RunState> state = client.state(run);
  if (!state || state->status != RunStatus::failed) return refusal;
  const Result<std::int64_t> seq = before_the_failure(store, *state);
  return seq ? forked(client, store, *state, *seq, options) : Result<SecondTry>(seq.error());
}

// The last event before the commit in which the last visit of the node ended.
Result<std::int64_t> before_node(Store& store, const RunState& state, const std::string& name) {
  if (state.graph->find(name) < 0)
    return Error{Code::invalid, "Expected a node of graph " + state.graph->name +
                                    " or an event's number, but found \"" + name + "\"."};
  bool has_left = false;
  const auto leaves = [&](const Event& event) {
    const auto* done = std::get_if<StepSucceeded>(&event.body);
    const auto* failed = std::get_if<StepFailed>(&event.body);
    const bool is_left =
        (done != nullptr && done->node == name) || (failed != nullptr && !failed->retry_at && failed->node == name);
    has_left = has_left || is_left;
    return is_left;
  };
  const std::int64_t seq = end_before(store, state.id, leaves);
  if (seq > 0) return seq;
  const std::string run = "run " + to_string(state.id);
  return Error{Code::invalid, has_left
                                  ? "Expected a node that " + run + " left after its start, but " + name +
                                        " was left in the same commit, before which there is no moment."
                                  : "Expected a node that " + run + " has left, but it has not left " + name + "."};
}

// The last event of the commit before the one that the event stands in, or the event itself if it ends a commit.
std::int64_t commit_end_at(Store& store, const RunId& run, std::int64_t seq) {
  std::int64_t end = 0;
  std::int64_t commit = -1;
  std::int64_t last = 0;
  each_event(store, run, [&](const EventRow& row, const Event&) {
    if (row.commit != commit && last <= seq) end = last;
    commit = row.commit;
    last = row.seq;
  });
  return last <= seq ? last : end;
}

}  // namespace

std::vector<Result<SecondTry>> try_again(Client& client, Store& store, const std::vector<RunId>& runs,
                                         const SecondTryOptions& options) {
  const Reopen reopen{options.reason};
  std::vector<Status> reopened;  // in few commits
  if (!options.is_dry) reopened = client.command_many(runs, reopen);
  if (options.is_dry)
    for (const RunId& run : runs) {
      const Result<RunState> would = client.state_if(run, reopen);
      reopened.push_back(would ? Status(Done{}) : Status(would.error()));
    }
  std::vector<Result<SecondTry>> tries;
  for (std::size_t i = 0; i < runs.size(); ++i)
    tries.push_back(reopened[i] ? Result<SecondTry>(SecondTry{runs[i]})
                                : tried_as_fork(client, store, runs[i], reopened[i].error(), options));
  return tries;
}

Result<SecondTry> reset_run(Client& client, Store& store, const RunId& run, const std::string& to,
                            const SecondTryOptions& options) {
  if (Status fits = check_reason(options.reason); !fits) return fits.error();
  const Result<RunState> state = client.state(run);
  if (!state) return state.error();
  std::int64_t number = 0;
  const auto read = std::from_chars(to.data(), to.data() + to.size(), number);
  const bool is_number = read.ec == std::errc{} && read.ptr == to.data() + to.size();
  if (is_number && (number < 1 || number > state->seq))
    return Error{Code::invalid, "Expected an event from 1 to " + std::to_string(state->seq) + " of run " +
                                    to_string(run) + ", but found " + to + "."};
  const Result<std::int64_t> seq =
      is_number ? Result<std::int64_t>(commit_end_at(store, run, number)) : before_node(store, *state, to);
  if (!seq) return seq.error();
  Result<SecondTry> second = forked(client, store, *state, *seq, options);
  if (!second || options.is_dry || is_ended(state->status)) return second;
  std::string says = "Reset to " + to + "; run " + to_string(second->run) + " goes on.";
  if (!options.reason.empty()) says += " " + options.reason;
  const Result<Done> ended = client.command(run, Cancel{std::move(says), true});  // with all it holds
  if (!ended && ended.error().code != Code::closed) return ended.error();
  return second;
}

}  // namespace cairn
