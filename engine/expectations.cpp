#include "engine/expectations.hpp"

#include <utility>

#include "engine/graph_migration.hpp"
#include "engine/id.hpp"

namespace cairn {

Error refusal(Code code, std::string message) { return {code, std::move(message)}; }

std::string name_of(const RunState& state) { return "run " + to_string(state.id); }

Status expect_open(const RunState& state) {
  if (state.seq == 0) return refusal(Code::not_found, "Expected a run, but " + name_of(state) + " does not exist.");
  if (!is_ended(state.status)) return Done{};
  return refusal(Code::closed, "Expected " + name_of(state) + " to be under way, but it has ended as " +
                                   std::string(to_string(state.status)) + ".");
}

Status expect_open(const RunState& state, StepId step, std::int32_t attempt) {
  if (Status run = expect_open(state); !run) return run;
  const Step* open = find_step(state, step);
  if (open == nullptr || open->failed_final) {
    const bool was = step > 0 && step <= state.last_step;
    return refusal(was ? Code::closed : Code::not_found, "Expected step " + std::to_string(step) + " of " +
                                                             name_of(state) + " to be open, but it " +
                                                             (was ? "has ended." : "does not exist."));
  }
  if (attempt == 0 || attempt == open->attempt) return Done{};
  return refusal(Code::stale, "Expected attempt " + std::to_string(open->attempt) + " of step " + std::to_string(step) +
                                  ", but attempt " + std::to_string(attempt) + " reports.");
}

Status expect_handled(const RunState& state, const Step& step) {
  if (step.goal >= 0 || work_of(state, step) != nullptr) return Done{};
  return refusal(Code::invalid, "Expected a step that a handler executes, but step " + std::to_string(step.id) +
                                    " stands at " + state.node(step).name + ".");
}

Error cannot_move(const RunState& state, const Graph& graph, const std::vector<std::string>& hindrances) {
  std::string names;
  for (const std::string& node : missing_nodes(state, graph)) names += (names.empty() ? "" : ", ") + node;
  if (names.empty()) return refusal(Code::conflict, hindrances.front());
  return refusal(Code::conflict, "Expected graph " + graph.name + " of version " + graph.version.substr(0, 12) +
                                     " to have every node where " + name_of(state) + " stands, but it lacks " + names +
                                     ".");
}

}  // namespace cairn
