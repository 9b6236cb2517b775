// Runs in PostgreSQL, as readers and sweeps ask for them: rows, heads, lists by a filter, children that were left
// open, open questions. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "storage/postgres/placements.hpp"
#include "storage/store.hpp"

namespace cairn {

class RunTable {
 public:
  // REQUIRES: `placements` outlives it.
  RunTable(Placements& placements, std::int32_t shards) : placements_(placements), shards_(shards) {}

  // As Store says.
  std::optional<RunRow> run(const RunId& id);
  std::vector<RunRow> runs(const RunFilter& filter);
  // As RunBook says.
  std::vector<std::optional<RunHead>> heads(std::span<const RunId> runs);
  std::int64_t count(const RunFilter& filter, std::int64_t at_most);
  std::vector<RunId> between(const RunId& first, const RunId& last, std::int32_t limit);
  std::optional<ImportOrigin> imported(const RunId& id);
  std::vector<RunId> orphans(OrphanMark& mark, std::int32_t limit);
  std::vector<LooseEnd> loose_ends(const RunId& after, std::int32_t limit);
  void tie_ends(std::span<const RunId> runs);
  std::vector<QuestionRow> questions(const RunId& id, std::int32_t limit);
  std::vector<QuestionRow> questions_after(const QuestionPlace& after, std::int32_t limit, std::int64_t bytes_max);

 private:
  PgParameters of_run(const RunId& id) const { return PgParameters().add(shard_of(id, shards_)).add(id); }
  PgResult query_of(const RunId& id, std::string_view name, const PgParameters& parameters) {
    return placements_.query(shard_of(id, shards_), name, parameters);
  }
  std::optional<TimeUs> end_of_window(const RunFilter& filter, std::int32_t runs);
  void for_each_window(RunFilter filter, const std::function<bool(RunFilter&)>& take);
  std::vector<RunRow> runs_listed(const RunFilter& filter);
  std::vector<RunRow> runs_sifted(const RunFilter& filter);
  std::vector<RunRow> runs_tagged(const RunFilter& filter);
  std::vector<RunRow> runs_of_lineage(const RunFilter& filter);

  Placements& placements_;
  const std::int32_t shards_;
};

}  // namespace cairn
