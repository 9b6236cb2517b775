#include "storage/postgres/claims/scan_marks.hpp"

#include <algorithm>
#include <limits>

namespace cairn {
namespace {

constexpr TimeUs slow_us = 20'000;           // a scan from the beginning that takes longer is slow
constexpr int slow_in_a_row = 2;             // one slow scan may be noise
constexpr TimeUs scan_every_us = 2'000'000;  // how often each wider scan runs
constexpr TimeUs scan_share = 50;            // and at most this part of the time it takes
constexpr TimeUs scan_pause_max_us = 120'000'000;
constexpr TimeUs commit_lag_us = 250'000;  // a row may be committed so much later than its run_at
constexpr TimeUs minute_us = 60'000'000;
constexpr std::size_t levels_max = 100;  // priorities remembered of a queue; with more, they are found again by scans

constexpr ScanMarks::Place lowest_place{std::numeric_limits<TimeUs>::min(), RunId{}};
ScanMarks::Place newest_mark(const ClaimRequest& request) { return {request.now_us - commit_lag_us, RunId{}}; }

}  // namespace

// Marks save a scan the dead index entries of claimed jobs, so they are used when there are many of these or scans are
// slow. Rows that lie before a mark are found by the wider scans, which are therefore never left out for long.
ScanFrom ScanMarks::usual(const ClaimRequest& request) {
  const std::lock_guard lock(mutex_);
  OfShard& marks = shards_[request.shard];
  const TimeUs now_us = clock_();
  const auto is_overdue = [&](const LastScan& scan) {
    return now_us > scan.ended_us + std::max(scan.pause_us, scan_every_us);
  };
  if (now_us > marks.claimed_since_us + scan_every_us) {
    marks.claimed = 0;
    marks.claimed_since_us = now_us;
  }
  const bool is_known = std::any_of(request.queues.begin(), request.queues.end(),
                                    [&](const std::string& queue) { return marks.by_queue.contains(queue); });
  const bool uses_marks = marks.claimed >= many_ || marks.slow_scans >= slow_in_a_row;
  if (!is_known || !uses_marks || is_overdue(marks.everywhere)) return ScanFrom::everywhere;
  return is_overdue(marks.minute) ? ScanFrom::minute : ScanFrom::marks;
}

ScanFrom ScanMarks::wider(Shard shard) {
  const std::lock_guard lock(mutex_);
  const OfShard& marks = shards_[shard];
  const auto may_run = [this](const LastScan& scan) { return clock_() >= scan.ended_us + scan.pause_us; };
  if (may_run(marks.everywhere)) return ScanFrom::everywhere;
  return may_run(marks.minute) ? ScanFrom::minute : ScanFrom::marks;
}

ScanMarks::Starts ScanMarks::starts(const ClaimRequest& request, ScanFrom from) {
  Starts starts;
  const std::lock_guard lock(mutex_);
  const Starts& marks = shards_[request.shard].by_queue;
  for (const std::string& queue : request.queues)
    if (const auto found = marks.find(queue); found != marks.end()) starts.insert(*found);
  if (from == ScanFrom::marks) return starts;
  for (auto& [queue, levels] : starts)
    for (auto& [priority, place] : levels) place = std::min(place, earliest(request, from));
  return starts;
}

ScanMarks::Place ScanMarks::earliest(const ClaimRequest& request, ScanFrom from) {
  return from == ScanFrom::minute ? Place{request.now_us - minute_us, RunId{}} : lowest_place;
}

// A wider scan finds out where the free entries begin. If it found fewer jobs than it was asked for, no due row is left
// in front of it and the marks may go up to where late commits end; otherwise they go down to where it started.
void ScanMarks::record(const ClaimRequest& request, ScanFrom from, TimeUs took_us, std::size_t found) {
  const bool took_all = found < static_cast<std::size_t>(request.limit);
  const std::lock_guard lock(mutex_);
  OfShard& marks = shards_[request.shard];
  LastScan& scan = from == ScanFrom::everywhere ? marks.everywhere : marks.minute;
  scan.pause_us = std::min(took_us * scan_share, scan_pause_max_us);
  scan.ended_us = marks.minute.ended_us = clock_();  // a scan from the beginning has covered the last minute too
  if (from == ScanFrom::everywhere) marks.slow_scans = took_us > slow_us ? marks.slow_scans + 1 : 0;
  for (const std::string& queue : request.queues) {
    const auto levels = marks.by_queue.find(queue);
    if (levels == marks.by_queue.end()) continue;
    if (levels->second.size() > levels_max) levels->second.clear();
    for (auto& [priority, mark] : levels->second)
      mark = took_all ? newest_mark(request) : std::min(mark, earliest(request, from));
  }
}

// No mark passes newest_mark(): rows that are due after it may still be committed.
void ScanMarks::raise(const ClaimRequest& request, const std::vector<HeldJob>& jobs) {
  const std::lock_guard lock(mutex_);
  OfShard& marks = shards_[request.shard];
  marks.claimed += static_cast<std::int64_t>(jobs.size());
  for (const HeldJob& held : jobs) {
    Place& mark = marks.by_queue[held.job.queue].try_emplace(held.job.priority, lowest_place).first->second;
    mark = std::max(mark, std::min(Place{held.job.run_at_us, held.run}, newest_mark(request)));
  }
}

}  // namespace cairn
