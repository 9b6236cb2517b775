// Jobs and the holds on them as a store keeps them, apart from how claims and commits give and end them: calls that
// both stores make. Safe from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/queue.hpp"

namespace cairn {

// All throw StoreUnavailable.
struct JobBook {
  // Gives up holds without an event: the jobs are offered again at `run_at_us` with a new epoch. A job that is no
  // longer held as its fence says is left alone. Returns how many were held; one that was given up just before the
  // connection was lost may be missing.
  std::function<std::size_t(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us)> release;

  // The same with holds of sessions that are taken for dead, but for those whose session's row says that their attempt
  // has begun (SessionRow::begun): one of the two happens first, that it says so or that the hold is given up.
  std::function<std::size_t(std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us)> release_unbegun;
  // The standing of each of these holds after their session's row has said that they begin, as that counts for
  // release_unbegun. `unsaid`: the row does not say it where the job is. It was removed, or a node of a cluster has not
  // got it yet: then the step may not begin.
  std::function<std::vector<HoldStanding>(std::span<const std::pair<RunId, Fence>> holds)> standing_begun;

  // The standing of each of these holds, in their order.
  std::function<std::vector<HoldStanding>(std::span<const std::pair<RunId, Fence>> holds)> standing;

  // Jobs of a run in branch order, for tests, `explain` and rebuild.
  std::function<std::vector<HeldJob>(const RunId&)> of;
  std::function<std::vector<QueueRow>()> queues;  // reads all jobs

  // By queue, the run_at of its oldest job that is due and unowned; no queue without one. Reads a few rows for each
  // queue and priority in each shard, however many jobs wait. A job that its home has left without offering it to all
  // is missed for some seconds, and so is one of the last priorities of a queue that has more than a thousand in a
  // shard. Where ten thousand held jobs of a priority come before the first free one, the time is that of a held one.
  std::function<std::map<std::string, TimeUs>()> oldest;
};

// The calls of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
JobBook job_book_of(Table& table) {
  return {.release = [&table](std::span<const std::pair<RunId, Fence>> holds,
                              TimeUs run_at_us) { return table.release(holds, run_at_us); },
          .release_unbegun = [&table](std::span<const std::pair<RunId, Fence>> holds,
                                      TimeUs run_at_us) { return table.release_unbegun(holds, run_at_us); },
          .standing_begun =
              [&table](std::span<const std::pair<RunId, Fence>> holds) { return table.standing_begun(holds); },
          .standing = [&table](std::span<const std::pair<RunId, Fence>> holds) { return table.standing(holds); },
          .of = [&table](const RunId& run) { return table.of(run); },
          .queues = [&table] { return table.queues(); },
          .oldest = [&table] { return table.oldest(); }};
}

}  // namespace cairn
