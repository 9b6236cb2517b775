#include "ops/metrics/run_tally.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace cairn {
namespace {

bool has_open_runs(const RunCounts& runs) {
  for (const char* status : {"running", "waiting", "paused"})
    if (const auto found = runs.find(status); found != runs.end() && found->second > 0) return true;
  return false;
}

std::int64_t total_of(const RunCounts& runs) {
  std::int64_t total = 0;
  for (const auto& [status, count] : runs) total += count;
  return total;
}

void add_to(RunCounts& sum, const RunCounts& more) {
  for (const auto& [status, count] : more) sum[status] += count;
}

}  // namespace

StartPlace first_start() { return {std::numeric_limits<TimeUs>::min(), "00000000-0000-0000-0000-000000000000"}; }
StartPlace last_start() { return {std::numeric_limits<TimeUs>::max(), "ffffffff-ffff-ffff-ffff-ffffffffffff"}; }

std::optional<RunTally::Reading> RunTally::read(const RunReader& reader, TimeUs now_us) {
  if (!parts_.empty()) count_again(reader, now_us);
  if (!add_parts(reader, now_us)) return std::nullopt;
  Reading reading{reader.count(begin_of(parts_.size()), last_start()), now_us};
  for (const Part& part : parts_) {
    add_to(reading.runs, part.runs);
    reading.oldest_us = std::min(reading.oldest_us, part.counted_at);
  }
  return reading;
}

// True if what follows the parts is less than one.
bool RunTally::add_parts(const RunReader& reader, TimeUs now_us) {
  for (int n = 0; n < parts_max_; ++n) {
    const StartPlace from = begin_of(parts_.size());
    const std::optional<StartPlace> until = reader.place(from, part_rows_);
    if (!until) return true;
    Part part{*until, reader.count(from, *until), now_us};
    part.has_open = has_open_runs(part.runs);
    parts_.push_back(std::move(part));
  }
  return !reader.place(begin_of(parts_.size()), part_rows_).has_value();
}

// A part that has grown by runs with old times (an import) is divided again, and so are those after it.
void RunTally::count_again(const RunReader& reader, TimeUs now_us) {
  is_open_next_ = !is_open_next_;
  std::optional<std::size_t> chosen = oldest(is_open_next_);
  if (!chosen) chosen = oldest(false);
  Part& part = parts_[*chosen];
  const StartPlace from = begin_of(*chosen);
  const std::optional<StartPlace> far = reader.place(from, 2 * part_rows_);
  if (far && *far < part.until) return parts_.resize(*chosen);
  part.runs = reader.count(from, part.until);
  part.counted_at = now_us;
  part.has_open = has_open_runs(part.runs);
  join_if_small(*chosen);
}

// Runs are archived: parts of few runs would be many, and each reading older.
void RunTally::join_if_small(std::size_t part) {
  if (total_of(parts_[part].runs) > part_rows_ / 4) return;
  if (part + 1 < parts_.size()) {
    Part& next = parts_[part + 1];
    add_to(next.runs, parts_[part].runs);
    next.counted_at = std::min(next.counted_at, parts_[part].counted_at);
    next.has_open = next.has_open || parts_[part].has_open;
  }
  parts_.erase(std::next(parts_.begin(), static_cast<std::ptrdiff_t>(part)));
}

std::optional<std::size_t> RunTally::oldest(bool is_open_only) const {
  std::optional<std::size_t> found;
  for (std::size_t n = 0; n < parts_.size(); ++n) {
    if (is_open_only && !parts_[n].has_open) continue;
    if (!found || parts_[n].counted_at < parts_[*found].counted_at) found = n;
  }
  return found;
}

}  // namespace cairn
