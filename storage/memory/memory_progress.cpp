#include "storage/memory/memory_progress.hpp"

#include <mutex>
#include <utility>

namespace cairn {
namespace {

bool is_held(const StoredRun& run, const ProgressRow& text) {
  const auto job = run.jobs.find(text.branch);
  return job != run.jobs.end() && job->second.session == text.session && job->second.job.step == text.place.step &&
         job->second.job.attempt == text.place.attempt;
}

}  // namespace

void MemoryProgress::put(SessionId session, std::span<const ProgressRow> texts, std::span<const ProgressPlace> ended) {
  const std::lock_guard lock(rows_.mutex);
  for (const ProgressPlace& place : ended) {
    const auto run = rows_.runs.find(place.run);
    if (run == rows_.runs.end()) continue;
    const auto text = run->second.progress.find({place.step, place.attempt});
    if (text != run->second.progress.end() && text->second.session == session) run->second.progress.erase(text);
  }
  for (ProgressRow row : texts) {
    const auto run = rows_.runs.find(row.place.run);
    row.session = session;
    row.at_us = rows_.clock();
    if (run != rows_.runs.end() && is_held(run->second, row))
      run->second.progress.insert_or_assign({row.place.step, row.place.attempt}, std::move(row));
  }
}

std::vector<ProgressRow> MemoryProgress::of(const RunId& id) {
  const std::lock_guard lock(rows_.mutex);
  const auto run = rows_.runs.find(id);
  std::vector<ProgressRow> rows;
  if (run == rows_.runs.end()) return rows;
  for (const auto& [place, row] : run->second.progress)
    if (is_held(run->second, row)) rows.push_back(row);
  cut(rows, progress_rows_max);
  return rows;
}

}  // namespace cairn
