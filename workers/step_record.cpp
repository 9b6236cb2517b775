#include "workers/step_record.hpp"

#include <optional>
#include <utility>

#include "engine/step_report.hpp"
#include "storage/chain.hpp"
#include "workers/history.hpp"

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
    handler = handlers.find(state.graph->nodes[static_cast<std::size_t>(step->node)].target);
    if (handler == nullptr || handler->is_pure()) return "";
  }
  return key_of(step_input(state, *step, handler), handler);
}

// A report as its events come in; its key is that of the state before the first of them.
class Gathering {
 public:
  // The finished report with its key.
  std::optional<std::pair<std::string, StepResult>> take(Event event, const RunState& before,
                                                         const HandlerTable& handlers) {
    if (events_.empty() || events_.front().step != event.step) {
      events_.clear();
      key_ = key_in(before, event.step, handlers);
    }
    events_.push_back(std::move(event));
    std::optional<StepReport> report = step_report(events_);
    if (!report) return std::nullopt;
    events_.clear();
    if (key_.empty()) return std::nullopt;
    return std::pair{std::exchange(key_, ""), StepResult(std::move(report->result))};
  }

 private:
  std::vector<Event> events_;
  std::string key_;
};

}  // namespace

Result<StepRecord> StepRecord::read(Store& store, const ForkPoint& after, const HandlerTable& handlers,
                                    const Graphs& graphs) {
  StepRecord record;
  record.after_ = after;
  RunState state;
  state.id = after.run;
  Gathering gathering;
  for (;;) {
    const std::vector<EventRow> rows = store.events(after.run, state.seq, history_page);
    for (std::size_t at = 0; at < rows.size(); ++at) {
      if (rows[at].seq > after.seq) {
        Result<Event> event = event_of(rows[at]);
        if (!event) return event.error();
        if (auto found = gathering.take(*std::move(event), state, handlers))
          record.add(found->first, std::move(found->second));
      }
      if (Status folded = fold_rows(state, {&rows[at], 1}, graphs); !folded) return folded.error();
    }
    if (rows.size() < static_cast<std::size_t>(history_page)) return record;
  }
}

StepResult StepRecord::answer(const StepInput& input, const Handler* handler) const {
  const auto found = results_.find(key_of(input, handler));
  if (found != results_.end()) return found->second;
  return no_answer("Expected a step that was given the same in run " + to_string(after_.run) + " behind event " +
                   std::to_string(after_.seq) + ", but there is none.");
}

StepResult StepRecord::no_answer(const std::string& says) { return Failure{diverged_error, says, false, {}}; }

void StepRecord::add(const std::string& key, StepResult result) {
  const auto [entry, is_new] = results_.try_emplace(key, result);
  if (!is_new && !std::holds_alternative<Outcome>(entry->second)) entry->second = std::move(result);
}

}  // namespace cairn
