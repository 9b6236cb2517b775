#include "workers/session/crowd.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/job.hpp"

namespace cairn {
namespace {

constexpr TimeUs poll_us_max = 5'000'000;
constexpr TimeUs scan_pause_us_max = 300'000'000;

// The place of a session in the order of a turn: SplitMix64, https://prng.di.unimi.it/splitmix64.c
std::uint64_t place(SessionId id, std::int64_t turn) {
  std::uint64_t mixed = static_cast<std::uint64_t>(id) + static_cast<std::uint64_t>(turn + 1) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

}  // namespace

void Crowd::seen(std::span<const SessionRow> sessions, const std::set<std::string, std::less<>>& queues, TimeUs now_us,
                 TimeUs silent_us) {
  struct Serving {
    std::int64_t count = 0;
    std::vector<SessionId> listening;  // or able to: a server listens once for all its workers over HTTP
  };
  std::map<std::string_view, Serving> serving;
  alive_ = before_ = 0;
  for (const SessionRow& row : sessions) {
    if (row.id != self_ && now_us - row.beat_at >= silent_us) continue;
    ++alive_;
    before_ += row.id < self_ ? 1 : 0;
    if (row.only_own) continue;
    for (const std::string& queue : row.queues) {
      Serving& those = serving[queue];
      ++those.count;
      if (!row.caller) those.listening.push_back(row.id);
    }
  }
  alive_ = std::max<std::int64_t>(alive_, 1);
  sharing_ = alive_;
  serving_.clear();
  for (const std::string& queue : queues) {
    Serving& those = serving[queue];
    sharing_ = std::min(sharing_, std::max<std::int64_t>(those.count, 1));
    serving_.push_back(std::move(those.listening));
  }
}

bool Crowd::is_listener(TimeUs now_us) const {
  const std::int64_t turn = now_us / turn_us;
  const std::uint64_t own = place(self_, turn);
  const auto is_first = [&](const std::vector<SessionId>& those) {
    return std::count_if(those.begin(), those.end(), [&](SessionId id) { return place(id, turn) < own; }) < watch;
  };
  return serving_.empty() || std::any_of(serving_.begin(), serving_.end(), is_first);
}

TimeUs Crowd::poll_us(TimeUs every_us) const {
  if (sharing_ <= watch) return every_us;
  const TimeUs pause_us = std::min(every_us * sharing_ / watch, poll_us_max);
  const TimeUs own_us = pause_us - static_cast<TimeUs>(place(self_, 0) % 1'000) * pause_us / 4'000;
  return std::max(every_us, own_us);
}

TimeUs Crowd::scan_pause_us(TimeUs every_us) const {
  if (before_ < watch) return every_us;
  return std::min(every_us * alive_ / watch, scan_pause_us_max);
}

}  // namespace cairn
