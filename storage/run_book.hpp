// Questions about all runs that lists and sweeps ask of a store: heads, counts, ids, children left open, called runs
// whose callers do not know of their end, open questions. Calls that both stores make. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "storage/log.hpp"

namespace cairn {

// How far a run is.
struct RunHead {
  std::int64_t seq = 0;  // of its last event
  RunStatus status = RunStatus::running;

  bool operator==(const RunHead&) const = default;
};

// The place of a sweep over open children: the parent that it read last.
struct OrphanMark {
  Shard shard = 0;
  RunId parent;
};

// All throw StoreUnavailable.
struct RunBook {
  // In the order of the ids; nothing: there is no such run.
  std::function<std::vector<std::optional<RunHead>>(std::span<const RunId> runs)> heads;
  // How many runs match, `limit` and `after` aside; `at_most` if there are as many or more. REQUIRES: no lineage.
  std::function<std::int64_t(const RunFilter&, std::int64_t at_most)> count;
  // The ids from `first` to `last`, in order, at most `limit`.
  std::function<std::vector<RunId>(const RunId& first, const RunId& last, std::int32_t limit)> between;
  // Where the run was imported from; nothing: it began here, or before imports were recorded.
  std::function<std::optional<ImportOrigin>(const RunId&)> imported;

  // Open children of parents that have ended, or gave them up to clean up: cancelling descends by a sweep. Reads
  // `limit` open children after `mark`, in the order of their parents, and moves the mark; at their end, the next call
  // begins at the first.
  std::function<std::vector<RunId>(OrphanMark& mark, std::int32_t limit)> orphans;

  // Called runs that ended without their callers (Entry::caller_knows), as a program of an older release may leave
  // them: those after `after`, in the order of shards and ids. tie_ends() says that their callers know.
  std::function<std::vector<LooseEnd>(const RunId& after, std::int32_t limit)> loose_ends;
  std::function<void(std::span<const RunId> runs)> tie_ends;

  // Open questions of one run, or of all runs when `id` is nil; oldest first.
  std::function<std::vector<QuestionRow>(const RunId& id, std::int32_t limit)> questions;
  // Open questions of all runs after the place given, oldest first: at most `limit`, and no more than take `bytes_max`
  // bytes together (on each node of a cluster), but at least one. Only an empty answer says that there are no more.
  std::function<std::vector<QuestionRow>(const QuestionPlace& after, std::int32_t limit, std::int64_t bytes_max)>
      questions_after;
};

// The calls of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
RunBook run_book_of(Table& table) {
  return {
      .heads = [&table](std::span<const RunId> runs) { return table.heads(runs); },
      .count = [&table](const RunFilter& filter, std::int64_t at_most) { return table.count(filter, at_most); },
      .between = [&table](const RunId& first, const RunId& last,
                          std::int32_t limit) { return table.between(first, last, limit); },
      .imported = [&table](const RunId& run) { return table.imported(run); },
      .orphans = [&table](OrphanMark& mark, std::int32_t limit) { return table.orphans(mark, limit); },
      .loose_ends = [&table](const RunId& after, std::int32_t limit) { return table.loose_ends(after, limit); },
      .tie_ends = [&table](std::span<const RunId> runs) { table.tie_ends(runs); },
      .questions = [&table](const RunId& run, std::int32_t limit) { return table.questions(run, limit); },
      .questions_after = [&table](const QuestionPlace& after, std::int32_t limit,
                                  std::int64_t bytes_max) { return table.questions_after(after, limit, bytes_max); }};
}

}  // namespace cairn
