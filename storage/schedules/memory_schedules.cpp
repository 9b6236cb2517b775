#include "storage/schedules/memory_schedules.hpp"

#include <algorithm>
#include <set>

#include "engine/schedule_rules.hpp"

namespace cairn {

ScheduleCalls MemorySchedules::calls() { return schedule_calls_of(*this); }

std::size_t MemorySchedules::decide(std::vector<ScheduleRow> rows, const DecideSchedules& decide) {
  if (rows.empty()) return 0;
  for (const ScheduleWrite& write : decide(clock_(), rows)) keep(write);
  return rows.size();
}

std::size_t MemorySchedules::decide_due(int limit, const DecideSchedules& decide_rows) {
  const std::lock_guard lock(mutex_);
  const TimeUs now_us = clock_();
  std::vector<ScheduleRow> due;
  for (const auto& [name, row] : rows_)
    if (row.due_at <= now_us) due.push_back(row);
  std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.due_at < b.due_at; });
  due.resize(std::min(due.size(), static_cast<std::size_t>(limit)));
  return decide(std::move(due), decide_rows);
}

std::size_t MemorySchedules::decide_named(const std::vector<std::string>& names, const DecideSchedules& decide_rows) {
  const std::lock_guard lock(mutex_);
  std::vector<ScheduleRow> found;
  for (const auto& [name, row] : rows_)
    if (std::find(names.begin(), names.end(), name) != names.end()) found.push_back(row);
  return decide(std::move(found), decide_rows);
}

void MemorySchedules::keep(const ScheduleWrite& write) {
  std::vector<KeptNote>& notes = notes_[write.row.name];
  for (const ScheduleNote& note : write.notes)
    notes.push_back({static_cast<std::int64_t>(notes.size()) + 1, clock_(), note});
  if (write.is_removed) {
    rows_.erase(write.row.name);
    return;
  }
  ScheduleRow& row = rows_[write.row.name] = write.row;
  row.notes = static_cast<std::int64_t>(notes.size());
}

bool MemorySchedules::add(const ScheduleWrite& write) {
  const std::lock_guard lock(mutex_);
  if (rows_.contains(write.row.name)) return false;
  keep(write);
  return true;
}

NextDue MemorySchedules::next_due() const {
  const std::lock_guard lock(mutex_);
  NextDue next{clock_(), {}};
  for (const auto& [name, row] : rows_) next.at_us = std::min(next.at_us.value_or(never_us), row.due_at);
  return next;
}

void MemorySchedules::recall() {
  const std::lock_guard lock(mutex_);
  const TimeUs now_us = clock_();
  for (auto& [name, row] : rows_) {
    const ScheduleState state = read_state(parse_stored(row.state));
    const bool is_left = !state.starting.empty() || (!state.waiting.empty() && !state.paused);
    if (row.due_at > now_us + clock_ahead_max_us && (is_left || is_ahead(state, now_us))) row.due_at = now_us;
  }
}

std::optional<std::string> MemorySchedules::definition_of(const std::string& name, std::int64_t revision) const {
  const std::lock_guard lock(mutex_);
  const auto found = notes_.find(name);
  if (found == notes_.end()) return std::nullopt;
  for (auto kept = found->second.rbegin(); kept != found->second.rend(); ++kept)
    if (kept->note.revision == revision && !kept->note.definition.empty()) return kept->note.definition;
  return std::nullopt;
}

std::vector<TimeUs> MemorySchedules::started(const std::string& name, TimeUs from, TimeUs until) const {
  std::set<TimeUs> times;
  for (const KeptNote& kept : notes(name)) {
    if (!kept.note.at || *kept.note.at < from || *kept.note.at > until) continue;
    if (kept.note.kind == NoteKind::started) times.insert(*kept.note.at);
    if (kept.note.kind == NoteKind::refused) times.erase(*kept.note.at);
  }
  return {times.begin(), times.end()};
}

std::vector<KeptNote> MemorySchedules::notes(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = notes_.find(name);
  return found == notes_.end() ? std::vector<KeptNote>() : found->second;
}

std::optional<ScheduleRow> MemorySchedules::row(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = rows_.find(name);
  return found == rows_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace cairn
