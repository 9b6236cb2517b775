// Jobs and holds of the store in memory, apart from how claims and commits give and end them. Safe from any thread (the
// lock of the rows).
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/memory/memory_rows.hpp"

namespace cairn {

class MemoryJobs {
 public:
  explicit MemoryJobs(MemoryRows& rows) : rows_(rows) {}

  // As JobBook says.
  std::size_t release(std::span<const std::pair<RunId, Fence>> holds_given, TimeUs run_at_us);
  std::size_t release_unbegun(std::span<const std::pair<RunId, Fence>> holds_given, TimeUs run_at_us);
  std::vector<HoldStanding> standing_begun(std::span<const std::pair<RunId, Fence>> holds_given);
  std::vector<HoldStanding> standing(std::span<const std::pair<RunId, Fence>> holds_given);
  std::vector<HeldJob> of(const RunId& id);
  std::vector<QueueRow> queues();
  std::map<std::string, TimeUs> oldest();

 private:
  bool is_begun(const RunId& id, const Fence& fence) const;  // under the mutex

  MemoryRows& rows_;
};

}  // namespace cairn
