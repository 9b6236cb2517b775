#include "ops/answers/called_runs.hpp"

#include <algorithm>

#include "ops/answers/run_json.hpp"

namespace cairn {

std::optional<RunFilter> called_filter(const RunState& state) {
  const auto& nodes = state.graph->nodes;
  if (std::none_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.call() != nullptr; })) return {};
  RunFilter filter;
  filter.parent = state.id;
  filter.until = state.last_at + 1;
  filter.limit = called_runs_max + 1;
  return filter;
}

Json called_json(std::span<const RunRow> called) {
  Json lines = Json::array();
  for (const RunRow& row : called.first(std::min<std::size_t>(called.size(), called_runs_max)))
    lines.push_back(run_json(row));
  return lines;
}

}  // namespace cairn
