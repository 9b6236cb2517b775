// The graphs in PostgreSQL. Safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/graph_book.hpp"
#include "storage/postgres/placements.hpp"

namespace cairn {

class GraphTable {
 public:
  // REQUIRES: `placements` outlives it.
  explicit GraphTable(Placements& placements) : placements_(placements) {}

  // As GraphBook says.
  void put(const GraphRow& graph);
  std::vector<GraphRow> all();
  std::int64_t mark();
  std::vector<GraphRow> names();
  std::vector<GraphRow> of(std::span<const std::string> versions);

 private:
  Placements& placements_;
};

}  // namespace cairn
