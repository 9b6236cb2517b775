#include "workers/runs/recorded_answers.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "engine/reported_outcome.hpp"
#include "storage/chain.hpp"
#include "workers/runs/history.hpp"

namespace cairn {
namespace {

Json plan_json(const std::vector<GoalView>& plan) {
  Json goals = Json::array();
  for (const GoalView& goal : plan)
    goals.push_back({goal.id, goal.tool, goal.inputs, to_string(goal.status), goal.outputs, goal.error, goal.message});
  return goals;
}

// A digest of what the step was given, whatever its number, its attempt and the version of the graph.
std::string key_of(const StepInput& input, const Handler* handler) {
  if (handler == nullptr) return hex(sha256(canonical(Json{input.sub_goal, input.tool, input.inputs})));
  return hex(sha256(canonical(
      Json{input.node, handler->name, input.with, input.data, input.given, plan_json(input.plan), input.fault})));
}

// The key of an open step that a tool or an effect works on; "": none does.
std::string key_in(const RunState& state, StepId id, const HandlerTable& handlers) {
  const Step* step = find_step(state, id);
  if (step == nullptr) return "";
  const Handler* handler = nullptr;
  if (step->goal < 0) {
    const DoNode* work = work_of(state, *step);
    handler = work == nullptr ? nullptr : handlers.find(work->handler);
    if (handler == nullptr || handler->is_pure()) return "";
  }
  const Result<StepInput> input = step_input(state, *step, handler);
  return input ? key_of(*input, handler) : "";
}

}  // namespace

RecordedAnswers::RecordedAnswers(const ForkPoint& after) : after_(after) { state_.id = after.run; }

Status RecordedAnswers::read_on(Store& store, const HandlerTable& handlers, const Graphs& graphs) {
  graphs_ = graphs;
  for (;;) {
    const std::vector<EventRow> rows = store.events(after_.run, state_.seq, history_page);
    for (const EventRow& row : rows)
      if (Status taken = read(store, row, handlers); !taken) return taken;
    if (rows.size() < static_cast<std::size_t>(history_page)) return Done{};
  }
}

Status RecordedAnswers::read(Store& store, const EventRow& row, const HandlerTable& handlers) {
  Result<Event> event = event_of(row);
  if (!event) return event.error();
  for (const std::string& version : graphs_named_by(event->body)) {
    if (graphs_.by_version(version) != nullptr) continue;
    for (const GraphRow& stored : store.graphs().of(std::span(&version, 1))) {
      Result<GraphRef> graph = graph_of(stored, graphs_);
      if (!graph) return graph.error();
      graphs_.add(*std::move(graph), false);
    }
  }
  if (row.seq > after_.seq) gather(*std::move(event), handlers);
  return fold_rows(state_, {&row, 1}, graphs_);
}

void RecordedAnswers::gather(Event event, const HandlerTable& handlers) {
  std::vector<Event>& events = gathering_.events;
  if (events.empty() || events.front().step != event.step) {
    events.clear();
    gathering_.key = key_in(state_, event.step, handlers);  // before the fold closes the step
  }
  events.push_back(std::move(event));
  std::optional<StepReport> report = step_report(events);
  if (!report) return;
  events.clear();
  if (!gathering_.key.empty()) add(std::exchange(gathering_.key, ""), std::move(report->result));
}

StepResult RecordedAnswers::answer(const StepInput& input, const Handler* handler) const {
  const auto found = results_.find(key_of(input, handler));
  if (found != results_.end()) return found->second;
  return no_answer("Expected a step that was given the same in run " + to_string(after_.run) + " behind event " +
                   std::to_string(after_.seq) + ", but there is none.");
}

StepResult RecordedAnswers::no_answer(const std::string& says) { return Failure{diverged_error, says, false, {}}; }

// The first success counts; until there is one, the last failure.
void RecordedAnswers::add(const std::string& key, StepResult result) {
  const auto [entry, is_new] = results_.try_emplace(key, result);
  if (!is_new && !entry->second) entry->second = std::move(result);
}

StepResult RecordedAnswersCache::answer(Store& store, const ForkPoint& after, const StepInput& input,
                                        const Handler* handler, const HandlerTable& handlers, const Graphs& graphs) {
  const std::shared_ptr<Kept> one = kept(after);
  const std::lock_guard lock(one->mutex);
  StepResult known = one->record.answer(input, handler);
  if (known) return known;
  try {
    const Status read = one->record.read_on(store, handlers, graphs);
    if (read) return one->record.answer(input, handler);
    known = RecordedAnswers::no_answer(read.error().message);
  } catch (...) {
    drop(one);
    throw;
  }
  drop(one);
  return known;
}

std::shared_ptr<RecordedAnswersCache::Kept> RecordedAnswersCache::kept(const ForkPoint& after) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&after](const auto& one) { return one->after == after; });
  if (found == kept_.end())
    kept_.push_front(std::make_shared<Kept>(after));
  else
    kept_.splice(kept_.begin(), kept_, found);
  if (kept_.size() > records_max) kept_.pop_back();
  return kept_.front();
}

void RecordedAnswersCache::drop(const std::shared_ptr<Kept>& one) {
  const std::lock_guard lock(mutex_);
  kept_.remove(one);
}

}  // namespace cairn
