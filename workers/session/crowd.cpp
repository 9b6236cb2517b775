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
  std::map<std::string_view, std::int64_t> serving;
  alive_ = before_ = 0;
  for (const SessionRow& row : sessions) {
    if (row.id != self_ && now_us - row.beat_at >= silent_us) continue;
    ++alive_;
    before_ += row.id < self_ ? 1 : 0;
    if (row.only_own) continue;
    for (const std::string& queue : row.queues) ++serving[queue];
  }
  alive_ = std::max<std::int64_t>(alive_, 1);
  sharing_ = alive_;
  for (const std::string& queue : queues) {
    const auto found = serving.find(queue);
    sharing_ = std::min(sharing_, found == serving.end() ? 1 : found->second);
  }
}

bool Crowd::answers_notification() {
  return sharing_ <= watch || std::uniform_int_distribution<std::int64_t>(0, sharing_ - 1)(random_) < watch;
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
