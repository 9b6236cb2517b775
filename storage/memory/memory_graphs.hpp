// The graphs as the store in memory keeps them. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/graph_book.hpp"

namespace cairn {

class MemoryGraphs {
 public:
  explicit MemoryGraphs(std::function<TimeUs()> clock) : clock_(std::move(clock)) {}

  // As GraphBook says.
  void put(const GraphRow& graph);
  std::vector<GraphRow> all() const;
  std::int64_t mark() const;
  std::vector<GraphRow> names() const;
  std::vector<GraphRow> of(std::span<const std::string> versions) const;

 private:
  const std::function<TimeUs()> clock_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, GraphRow> graphs_;  // by name and version
};

}  // namespace cairn
