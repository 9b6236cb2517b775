// Low-water marks: the places where scans of the index of due jobs begin, and the choice of a scan. Nothing here asks
// the database. Safe from any thread.
//
// In that index, held and dead entries stand in front of the free ones. While this process claims little, each claim
// scans its queues' part of the index from the beginning. Once it has claimed `many` jobs within two seconds, or scans
// have become slow, a claim starts at a mark per (shard, queue, priority): the newest run_at that this process has
// claimed, but at least 250 ms before now, because a row may be committed later than its run_at.
//
// Wider scans find the rows that marks skip. One starts a minute before now, the other at the beginning of the index.
// Each runs every two seconds; a slow one runs seldom enough to take at most a fiftieth of the time, but every two
// minutes at least. A claim that finds too few jobs brings them forward.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/clock.hpp"
#include "storage/queue.hpp"

namespace cairn {

enum class ScanFrom : std::uint8_t { marks, minute, everywhere };

class ScanMarks {
 public:
  using Place = std::pair<TimeUs, RunId>;        // in the index, of one priority
  using Levels = std::map<std::int32_t, Place>;  // by priority
  using Starts = std::map<std::string, Levels>;  // by queue

  // `many`: marks are used once this many jobs were claimed. `clock`: the monotonic one.
  explicit ScanMarks(std::int64_t many, std::function<TimeUs()> clock = steady_us)
      : many_(many), clock_(std::move(clock)) {}

  // The scan that a claim begins with.
  ScanFrom usual(const ClaimRequest& request);
  // The scan to add when the marks gave too few jobs; `marks` if it is too early for a wider one.
  ScanFrom wider(Shard shard);
  // The places where such a scan begins, of the priorities that are known of the request's queues.
  Starts starts(const ClaimRequest& request, ScanFrom from);

  // A wider scan has ended, and found so many jobs.
  void record(const ClaimRequest& request, ScanFrom from, TimeUs took_us, std::size_t found);
  // These jobs were claimed, by whichever way.
  void raise(const ClaimRequest& request, const std::vector<HeldJob>& jobs);

 private:
  struct LastScan {  // of one width
    TimeUs ended_us = 0;
    TimeUs pause_us = 0;  // from its end to the next one
  };
  struct OfShard {
    Starts by_queue;
    LastScan everywhere;
    LastScan minute;
    std::int64_t claimed = 0;  // since `claimed_since_us`
    TimeUs claimed_since_us = 0;
    int slow_scans = 0;  // from the beginning, in a row
  };
  static Place earliest(const ClaimRequest& request, ScanFrom from);

  const std::int64_t many_;
  const std::function<TimeUs()> clock_;
  std::mutex mutex_;
  std::map<Shard, OfShard> shards_;
};

}  // namespace cairn
