#include "storage/memory/memory_graphs.hpp"

#include <algorithm>

namespace cairn {

void MemoryGraphs::put(const GraphRow& graph) {
  const TimeUs now_us = clock_();  // before the lock: a test's clock may look into the store
  const std::lock_guard lock(mutex_);
  GraphRow& stored = graphs_.try_emplace({graph.name, graph.version}, graph).first->second;
  const bool is_new = stored.at_us == 0;
  const bool becomes_current = graph.current && (is_new || !stored.current);
  if (is_new || becomes_current) {
    stored.actor = graph.actor;
    stored.at_us = now_us;
  }
  if (!graph.current) return;
  for (auto& [key, row] : graphs_) {
    if (key.first == graph.name) row.current = key.second == graph.version;
  }
}

std::vector<GraphRow> MemoryGraphs::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<GraphRow> rows;
  for (const auto& [key, row] : graphs_) rows.push_back(row);
  return rows;
}

std::int64_t MemoryGraphs::mark() const {
  std::size_t mark = 0;
  for (const GraphRow& row : all())
    mark ^= std::hash<std::string>{}(row.name + " " + row.version + (row.current ? " current" : ""));
  return static_cast<std::int64_t>(mark);
}

std::vector<GraphRow> MemoryGraphs::names() const {
  std::vector<GraphRow> rows = all();
  for (GraphRow& row : rows) row.text.clear();
  return rows;
}

std::vector<GraphRow> MemoryGraphs::of(std::span<const std::string> versions) const {
  std::vector<GraphRow> rows = all();
  std::erase_if(rows, [&](const GraphRow& row) {
    return std::find(versions.begin(), versions.end(), row.version) == versions.end();
  });
  return rows;
}

}  // namespace cairn
