#include "ops/keeping/keep_policies.hpp"

#include "engine/graph_keep.hpp"

namespace cairn {

const std::vector<KeepPolicy>& KeepPolicies::current() & {
  const std::int64_t mark = store_.graphs().mark();
  if (mark_ == mark) return policies_;
  std::vector<std::string> versions;
  for (const GraphRow& row : store_.graphs().names())
    if (row.current) versions.push_back(row.version);
  policies_.clear();
  for (const GraphRow& row : store_.graphs().of(versions)) {
    Graph graph;
    graph.name = row.name;
    graph.text = row.text;
    if (const std::optional<std::int64_t> time = keep_us(graph); time && row.current)
      policies_.push_back({row.name, *time});
  }
  mark_ = mark;
  return policies_;
}

}  // namespace cairn
