#include "storage/starts/memory_starts.hpp"

#include <algorithm>

namespace cairn {

StartKeyRow MemoryStarts::with_front(StartKeyRow row) const {
  row.front.reset();
  const auto starts = starts_.find(row.of);
  if (starts == starts_.end()) return row;
  const auto first = std::find_if(starts->second.begin(), starts->second.end(),
                                  [](const auto& start) { return !start.second.refusal; });
  if (first != starts->second.end()) row.front = std::pair(first->first, first->second.run);
  return row;
}

void MemoryStarts::decide(const std::vector<StartKeyRow>& rows, const DecideStarts& decide_rows) {
  if (rows.empty()) return;
  for (const StartKeyWrite& write : decide_rows(clock_(), rows)) keep(write);
}

void MemoryStarts::keep(const StartKeyWrite& write) {
  Starts& starts = starts_[write.row.of];
  for (const StartNumbers& gone : write.removed)
    std::erase_if(starts, [&gone](const auto& start) {
      return start.first >= gone.first && start.first <= gone.last && !start.second.refusal;
    });
  for (const WaitingStart& start : write.added) starts[start.number] = start;
  for (const auto& [numbers, refusal] : write.refused)
    for (auto& [number, start] : starts)
      if (number >= numbers.first && number <= numbers.last) start.refusal = refusal;
  if (starts.empty()) starts_.erase(write.row.of);
  if (write.is_removed)
    rows_.erase(write.row.of);
  else
    rows_[write.row.of] = write.row;
}

void MemoryStarts::decide_named(std::vector<StartKey> keys, const DecideStarts& decide_rows) {
  const std::lock_guard lock(mutex_);
  std::sort(keys.begin(), keys.end());
  std::vector<StartKeyRow> found;
  for (const StartKey& key : keys) {
    const auto [row, is_new] = rows_.try_emplace(key, StartKeyRow{.of = key});
    const auto starts = starts_.find(key);
    if (is_new && starts != starts_.end()) row->second.numbers = starts->second.rbegin()->first;
    found.push_back(with_front(row->second));
  }
  decide(found, decide_rows);
}

std::size_t MemoryStarts::decide_due(int limit, const DecideStarts& decide_rows) {
  const std::lock_guard lock(mutex_);
  const TimeUs now_us = clock_();
  std::vector<StartKeyRow> due;
  for (const auto& [key, row] : rows_)
    if (row.due_at <= now_us) due.push_back(with_front(row));
  std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.due_at < b.due_at; });
  if (due.size() > static_cast<std::size_t>(limit)) due.erase(due.begin() + limit, due.end());
  decide(due, decide_rows);
  return due.size();
}

NextDue MemoryStarts::next_due() const {
  const std::lock_guard lock(mutex_);
  NextDue next{clock_(), {}};
  for (const auto& [key, row] : rows_) next.at_us = std::min(next.at_us.value_or(never_us), row.due_at);
  return next;
}

std::int64_t MemoryStarts::count(std::int64_t most) const {
  const std::lock_guard lock(mutex_);
  std::int64_t waiting = 0;
  for (const auto& [key, starts] : starts_)
    waiting += std::count_if(starts.begin(), starts.end(), [](const auto& start) { return !start.second.refusal; });
  return std::min(waiting, most);
}

std::vector<WaitingStart> MemoryStarts::starts(const StartKey& of, std::int64_t first, std::int64_t last) const {
  const std::lock_guard lock(mutex_);
  std::vector<WaitingStart> found;
  const auto starts = starts_.find(of);
  if (starts == starts_.end()) return found;
  for (auto start = starts->second.lower_bound(first); start != starts->second.end() && start->first <= last; ++start)
    found.push_back(start->second);
  return found;
}

std::optional<FoundStart> MemoryStarts::start_of_run(const RunId& run) const {
  const std::lock_guard lock(mutex_);
  std::optional<FoundStart> found;
  for (const auto& [key, starts] : starts_)
    for (const auto& [number, start] : starts)
      if (start.run == run) found = FoundStart{key, start, rows_.contains(key) ? rows_.at(key).state : ""};
  return found;
}

std::vector<StartKeyRow> MemoryStarts::keys(const std::string& graph, const StartKey& after, std::int32_t limit) const {
  const std::lock_guard lock(mutex_);
  std::vector<StartKeyRow> found;
  for (auto row = rows_.upper_bound(after); row != rows_.end() && std::ssize(found) < limit; ++row)
    if (graph.empty() || row->first.graph == graph) found.push_back(row->second);
  return found;
}

void MemoryStarts::forget_refused(TimeUs before_us) {
  const std::lock_guard lock(mutex_);
  for (auto& [key, starts] : starts_)
    std::erase_if(starts,
                  [before_us](const auto& start) { return start.second.refusal && start.second.asked_at < before_us; });
  std::erase_if(starts_, [](const auto& key) { return key.second.empty(); });
}

void MemoryStarts::recall() {
  const std::lock_guard lock(mutex_);
  const TimeUs now_us = clock_();
  for (auto& [key, row] : rows_)
    if (row.due_at > now_us + clock_ahead_max_us && row.due_at != never_us) row.due_at = now_us;
}

}  // namespace cairn
