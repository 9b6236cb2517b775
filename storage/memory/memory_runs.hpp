// Runs of the store in memory, as readers and sweeps ask for them. Safe from any thread (the lock of the rows).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/memory/memory_rows.hpp"

namespace cairn {

class MemoryRuns {
 public:
  explicit MemoryRuns(MemoryRows& rows) : rows_(rows) {}

  // As Store says.
  std::optional<RunRow> run(const RunId& id);
  std::vector<RunRow> runs(const RunFilter& filter);
  // As RunBook says.
  std::vector<std::optional<RunHead>> heads(std::span<const RunId> runs);
  std::int64_t count(const RunFilter& filter, std::int64_t at_most);
  std::vector<RunId> between(const RunId& first, const RunId& last, std::int32_t limit);
  std::optional<ImportOrigin> imported(const RunId&) { return std::nullopt; }
  std::vector<RunId> orphans(OrphanMark& mark, std::int32_t limit);
  std::vector<LooseEnd> loose_ends(const RunId& after, std::int32_t limit);
  void tie_ends(std::span<const RunId> runs);
  std::vector<QuestionRow> questions(const RunId& id, std::int32_t limit);
  std::vector<QuestionRow> questions_after(const QuestionPlace& after, std::int32_t limit, std::int64_t bytes_max);

 private:
  MemoryRows& rows_;
};

}  // namespace cairn
