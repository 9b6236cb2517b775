// The graphs as a store keeps them: calls that both stores make. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "storage/log.hpp"

namespace cairn {

// All throw StoreUnavailable.
struct GraphBook {
  // A graph's name and version are stored once; `current` moves the name to this version.
  std::function<void(const GraphRow&)> put;
  std::function<std::vector<GraphRow>()> all;

  // For readers who know most graphs already, see new_graphs(): a number that is another one when a graph was added or
  // a name moved to another version; all graphs without their texts; those of these versions, whole.
  std::function<std::int64_t()> mark;
  std::function<std::vector<GraphRow>()> names;
  std::function<std::vector<GraphRow>(std::span<const std::string> versions)> of;
};

// The calls of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
GraphBook graph_book_of(Table& table) {
  return {.put = [&table](const GraphRow& graph) { table.put(graph); },
          .all = [&table] { return table.all(); },
          .mark = [&table] { return table.mark(); },
          .names = [&table] { return table.names(); },
          .of = [&table](std::span<const std::string> versions) { return table.of(versions); }};
}

}  // namespace cairn
