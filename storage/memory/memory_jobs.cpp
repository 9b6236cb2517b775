#include "storage/memory/memory_jobs.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/commit_rules.hpp"

namespace cairn {
namespace {

bool holds(const HeldJob& job, const Fence& fence) {
  return job.session == fence.session && job.epoch == fence.epoch && job.job.step == fence.step;
}

void count(QueueRow& queue, const HeldJob& job, TimeUs now_us) {
  queue.name = job.job.queue;
  if (job.session != 0) {
    ++queue.held;
  } else if (job.job.run_at_us > now_us) {
    ++queue.later;
  } else {
    ++queue.ready;
    queue.oldest_us = std::min(queue.oldest_us.value_or(never_us), job.job.run_at_us);
  }
}

}  // namespace

std::size_t MemoryJobs::release(std::span<const std::pair<RunId, Fence>> holds_given, TimeUs run_at_us) {
  const std::lock_guard lock(rows_.mutex);
  std::size_t released = 0;
  for (const auto& [id, fence] : holds_given) {
    const auto run = rows_.runs.find(id);
    if (run == rows_.runs.end()) continue;
    const auto job = run->second.jobs.find(fence.branch);
    if (job == run->second.jobs.end() || !holds(job->second, fence)) continue;
    job->second.session = 0;
    ++job->second.epoch;  // should the holder that gave up report all the same, its fence is stale from here on
    job->second.deadline_us = never_us;
    run->second.adjust_released(job->second.job);
    // A run that was paused while the job was held has its jobs out of every claim's reach until it resumes.
    job->second.job.run_at_us = run->second.row.status == RunStatus::paused ? never_us : run_at_us;
    ++released;
  }
  return released;
}

std::size_t MemoryJobs::release_unbegun(std::span<const std::pair<RunId, Fence>> holds_given, TimeUs run_at_us) {
  std::vector<std::pair<RunId, Fence>> unbegun(holds_given.begin(), holds_given.end());
  {
    const std::lock_guard lock(rows_.mutex);
    std::erase_if(unbegun, [this](const auto& hold) { return is_begun(hold.first, hold.second); });
  }
  return release(unbegun, run_at_us);
}

// As the row of the hold's session says.
bool MemoryJobs::is_begun(const RunId& id, const Fence& fence) const {
  const auto session = rows_.sessions.find(fence.session);
  const auto run = rows_.runs.find(id);
  if (session == rows_.sessions.end() || !session->second.begun || run == rows_.runs.end()) return false;
  const auto job = run->second.jobs.find(fence.branch);
  if (job == run->second.jobs.end() || !holds(job->second, fence)) return false;
  const std::vector<std::string>& begun = *session->second.begun;
  return std::find(begun.begin(), begun.end(), attempt_text(job->second)) != begun.end();
}

std::vector<HoldStanding> MemoryJobs::standing_begun(std::span<const std::pair<RunId, Fence>> holds_given) {
  std::vector<HoldStanding> found = standing(holds_given);
  const std::lock_guard lock(rows_.mutex);
  for (std::size_t at = 0; at < found.size(); ++at)
    if (found[at] == HoldStanding::held && !is_begun(holds_given[at].first, holds_given[at].second))
      found[at] = HoldStanding::unsaid;
  return found;
}

std::vector<HoldStanding> MemoryJobs::standing(std::span<const std::pair<RunId, Fence>> holds_given) {
  const std::lock_guard lock(rows_.mutex);
  std::vector<HoldStanding> found;
  for (const auto& [id, fence] : holds_given) {
    const auto run = rows_.runs.find(id);
    const bool is_there = run != rows_.runs.end() && run->second.jobs.contains(fence.branch);
    const bool is_held = is_there && holds(run->second.jobs.at(fence.branch), fence);
    found.push_back(is_held ? HoldStanding::held : is_there ? HoldStanding::lost : HoldStanding::gone);
  }
  return found;
}

std::vector<HeldJob> MemoryJobs::of(const RunId& id) {
  const std::lock_guard lock(rows_.mutex);
  std::vector<HeldJob> jobs = rows_.select([&](const HeldJob& job) { return job.run == id; }, never_us);
  for (HeldJob& job : jobs)
    if (const StoredRun& run = rows_.runs.at(id); run.at_home.contains(job.job.branch)) job.home = run.home.value_or(0);
  return jobs;
}

std::vector<QueueRow> MemoryJobs::queues() {
  const TimeUs now_us = rows_.clock();
  const std::lock_guard lock(rows_.mutex);
  std::map<std::string, QueueRow> queues;
  for (const auto& [id, run] : rows_.runs) {
    for (const auto& [branch, job] : run.jobs) count(queues[job.job.queue], job, now_us);
  }
  std::vector<QueueRow> rows;
  for (auto& [name, row] : queues) rows.push_back(std::move(row));
  return rows;
}

std::map<std::string, TimeUs> MemoryJobs::oldest() {
  std::map<std::string, TimeUs> oldest;
  for (const QueueRow& queue : queues())
    if (queue.oldest_us) oldest.emplace(queue.name, *queue.oldest_us);
  return oldest;
}

}  // namespace cairn
