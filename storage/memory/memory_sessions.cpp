#include "storage/memory/memory_sessions.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

namespace cairn {

void MemorySessions::open(const SessionRow& session) {
  const std::lock_guard lock(rows_.mutex);
  const auto [found, is_new] = rows_.sessions.try_emplace(session.id, session);
  if (is_new) return;
  found->second.queues = session.queues;
  found->second.handlers = session.handlers;
  found->second.tools = session.tools;
  found->second.declares = session.declares;
}

void MemorySessions::beat(SessionId session) {
  const std::lock_guard lock(rows_.mutex);
  const auto found = rows_.sessions.find(session);
  if (found == rows_.sessions.end()) return;
  ++found->second.counter;
  found->second.beat_at = rows_.clock();
}

void MemorySessions::set_alone(SessionId session, const std::string& hold) {
  const std::lock_guard lock(rows_.mutex);
  const auto found = rows_.sessions.find(session);
  if (found != rows_.sessions.end()) found->second.alone = hold;
}

void MemorySessions::set_begun(SessionId session, const std::vector<std::string>& attempts) {
  const std::lock_guard lock(rows_.mutex);
  const auto found = rows_.sessions.find(session);
  if (found != rows_.sessions.end()) found->second.begun = attempts;
}

void MemorySessions::close(SessionId session) {
  const std::lock_guard lock(rows_.mutex);
  rows_.sessions.erase(session);
  for (auto& [id, run] : rows_.runs) {
    if (run.home == session) run.home.reset();
    std::erase_if(run.progress, [&](const auto& entry) {
      return entry.second.session == session || !rows_.sessions.contains(entry.second.session);
    });
  }
}

void MemorySessions::set_home(SessionId session, const RunId& id, bool is_home) {
  const std::lock_guard lock(rows_.mutex);
  const auto run = rows_.runs.find(id);
  if (run == rows_.runs.end()) return;
  if (is_home)
    run->second.home = session;
  else if (run->second.home == session)
    run->second.home.reset();
}

std::vector<SessionRow> MemorySessions::all() {
  const std::lock_guard lock(rows_.mutex);
  std::vector<SessionRow> rows;
  for (const auto& entry : rows_.sessions) {
    const SessionRow& session = entry.second;
    rows.push_back(session);
  }
  std::sort(rows.begin(), rows.end(), [](const SessionRow& a, const SessionRow& b) {
    return std::tie(a.started_at, a.id) < std::tie(b.started_at, b.id);
  });
  return rows;
}

std::vector<HeldJob> MemorySessions::held_by(SessionId session, std::int32_t limit, RunShare share) {
  const std::lock_guard lock(rows_.mutex);
  const auto is_shared = [&](const RunId& run) {
    return std::hash<RunId>()(run) % static_cast<std::size_t>(share.of) == static_cast<std::size_t>(share.index);
  };
  return rows_.select([&](const HeldJob& job) { return job.session == session && session != 0 && is_shared(job.run); },
                      limit);
}

HeldScan MemorySessions::scan_held(SessionId session, TimeUs now_us, std::int32_t limit) {
  const std::lock_guard lock(rows_.mutex);
  const auto is_own = [&](const HeldJob& job) { return job.session == session; };
  const auto is_overdue = [&](const HeldJob& job) { return job.deadline_us < now_us; };
  const auto is_unowned = [&](const HeldJob& job) { return !rows_.sessions.contains(job.session); };
  const std::vector<HeldJob> found = rows_.select(
      [&](const HeldJob& job) { return job.session != 0 && (is_own(job) || is_overdue(job) || is_unowned(job)); },
      limit);
  HeldScan scan;
  scan.is_all = found.size() < static_cast<std::size_t>(std::max(limit, 0));
  for (const HeldJob& job : found) {
    if (is_own(job)) scan.own.push_back(job);
    if (is_overdue(job)) scan.overdue.push_back(job);  // of a session that is alive as well: its step hangs
    if (is_unowned(job)) scan.unowned.push_back(job);
  }
  return scan;
}

std::map<SessionId, std::int64_t> MemorySessions::held_counts() {
  const std::lock_guard lock(rows_.mutex);
  std::map<SessionId, std::int64_t> counts;
  for (const HeldJob& job : rows_.select([](const HeldJob& held) { return held.session != 0; }, never_us))
    ++counts[job.session];
  return counts;
}

}  // namespace cairn
