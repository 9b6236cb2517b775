#include "workers/session/crowd.hpp"

#include <algorithm>
#include <map>

#include "engine/job.hpp"

namespace cairn {
namespace {

constexpr TimeUs poll_us_max = 5'000'000;
constexpr TimeUs scan_pause_us_max = 300'000'000;

}  // namespace

void Crowd::seen(std::span<const SessionRow> sessions, const std::set<std::string, std::less<>>& queues, TimeUs now_us,
                 TimeUs silent_us) {
  struct Serving {
    std::int64_t all = 0;
    std::int64_t before = 0;
  };
  std::map<std::string_view, Serving> serving;
  alive_ = before_ = 0;
  for (const SessionRow& row : sessions) {
    if (row.id != self_ && now_us - row.beat_at >= silent_us) continue;
    ++alive_;
    const std::int64_t one_before = row.id < self_ ? 1 : 0;
    before_ += one_before;
    if (row.only_own) continue;
    for (const std::string& queue : row.queues) {
      ++serving[queue].all;
      serving[queue].before += one_before;
    }
  }
  alive_ = std::max<std::int64_t>(alive_, 1);
  sharing_ = alive_;
  first_ = before_;
  for (const std::string& queue : queues) {
    const Serving& found = serving[queue];
    sharing_ = std::min(sharing_, std::max<std::int64_t>(found.all, 1));
    first_ = std::min(first_, found.before);
  }
}

TimeUs Crowd::poll_us(TimeUs every_us) const {
  if (sharing_ <= watch) return every_us;
  return std::max(every_us, std::min(every_us * sharing_ / watch, poll_us_max));
}

TimeUs Crowd::scan_pause_us(TimeUs every_us) const {
  if (before_ < watch) return every_us;
  return std::min(every_us * alive_ / watch, scan_pause_us_max);
}

}  // namespace cairn
