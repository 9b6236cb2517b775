#include "storage/postgres_claim.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <tuple>

#include "storage/postgres_rows.hpp"

namespace cairn {
namespace {

constexpr std::int64_t rest_after_dear = 20;       // for that many times as long, claims use marks
constexpr std::int64_t rest_after_empty = 4;       // unless they find nothing, and then for that many times
constexpr std::int64_t marks_age_max_us = 2'000'000;
constexpr std::int64_t marks_lag_us = 250'000;     // a row may be committed that much later than its run_at

std::int64_t monotonic_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

PgArray texts(const std::vector<std::string>& values) {
  PgArray array(PgType::text);
  for (const std::string& value : values) array.add(value);
  return array;
}

std::vector<HeldJob> read_claimed(const PgResult& rows) {
  std::vector<HeldJob> jobs;
  for (int row = 0; row < rows.rows(); ++row) jobs.push_back(read_held_job(rows, row));
  return jobs;
}

bool earlier(const HeldJob& a, const HeldJob& b) {
  return std::tie(a.job.priority, a.job.run_at_us, a.run, a.job.branch) <
         std::tie(b.job.priority, b.job.run_at_us, b.run, b.job.branch);
}

}  // namespace

std::vector<HeldJob> ClaimDesk::claim(const ClaimRequest& request) {
  if (request.limit <= 0 || request.queues.empty()) return {};
  std::vector<HeldJob> jobs;
  if (!request.only_runs.empty()) {
    jobs = claim_of_runs(request);
  } else if (uses_marks(request)) {
    jobs = claim_after_marks(request);
    if (jobs.empty() && may_look_everywhere(request.shard)) jobs = claim_everywhere(request);
  } else {
    jobs = claim_everywhere(request);
  }
  add_heads(request.shard, jobs);
  std::sort(jobs.begin(), jobs.end(), earlier);
  return jobs;
}

std::vector<HeldJob> ClaimDesk::claim_everywhere(const ClaimRequest& request) {
  PgParameters parameters;
  parameters.add(request.shard).add(texts(rotated(request.queues))).add(request.limit).add(request.now_us);
  parameters.add(request.session).add(request.default_timeout_ms).add(deadline_grace_ms);
  const std::int64_t began_us = monotonic_us();
  std::vector<HeldJob> jobs = read_claimed(pool_.query("claim", parameters));
  remember(request, jobs, monotonic_us() - began_us);
  return jobs;
}

std::vector<HeldJob> ClaimDesk::claim_after_marks(const ClaimRequest& request) {
  PgArray queue(PgType::text), priority(PgType::int4), run_at(PgType::int8), run(PgType::uuid);
  PgArray gap_queue(PgType::text), above(PgType::int4), below(PgType::int4);
  const auto marks = marks_of(request.shard);
  for (const std::string& name : rotated(request.queues)) {
    std::int32_t last = std::numeric_limits<std::int32_t>::min();
    const auto levels = marks.find(name);
    if (levels != marks.end()) {
      for (const auto& [level, mark] : levels->second) {
        queue.add(name);
        priority.add(level);
        run_at.add(mark.first);
        run.add(mark.second);
        gap_queue.add(name);
        above.add(last);
        below.add(level);
        last = level;
      }
    }
    gap_queue.add(name);
    above.add(last);
    below.add(std::numeric_limits<std::int32_t>::max());
  }
  PgParameters parameters;
  parameters.add(request.shard).add(request.limit).add(request.now_us).add(request.session);
  parameters.add(request.default_timeout_ms).add(deadline_grace_ms);
  parameters.add(std::move(queue)).add(std::move(priority)).add(std::move(run_at)).add(std::move(run));
  parameters.add(std::move(gap_queue)).add(std::move(above)).add(std::move(below));
  std::vector<HeldJob> jobs = read_claimed(pool_.query("claim_after_marks", parameters));
  raise_marks(request, jobs);
  return jobs;
}

std::vector<HeldJob> ClaimDesk::claim_of_runs(const ClaimRequest& request) {
  PgArray runs(PgType::uuid);
  for (const RunId& run : request.only_runs) runs.add(run);
  PgParameters parameters;
  parameters.add(request.shard).add(texts(request.queues)).add(request.limit).add(request.now_us);
  parameters.add(request.session).add(request.default_timeout_ms).add(deadline_grace_ms).add(std::move(runs));
  return read_claimed(pool_.query("claim_of_runs", parameters));
}

// Read after the claim, so that no head is older than the jobs.
void ClaimDesk::add_heads(Shard shard, std::vector<HeldJob>& jobs) {
  if (jobs.empty()) return;
  PgArray runs(PgType::uuid);
  for (const HeldJob& held : jobs) runs.add(held.run);
  const PgResult heads = pool_.query("run_heads", PgParameters().add(shard).add(std::move(runs)));
  for (int row = 0; row < heads.rows(); ++row) {
    jobs[static_cast<std::size_t>(heads.int8(row, 0) - 1)].run_head = heads.int8(row, 1);
  }
}

std::vector<std::string> ClaimDesk::rotated(const std::vector<std::string>& queues) {
  std::vector<std::string> turned = queues;
  const std::lock_guard lock(mutex_);
  const auto first = static_cast<std::ptrdiff_t>(turn_++ % queues.size());
  std::rotate(turned.begin(), turned.begin() + first, turned.end());
  return turned;
}

void ClaimDesk::remember(const ClaimRequest& request, const std::vector<HeldJob>& jobs, std::int64_t took_us) {
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now_us = monotonic_us();
    Marks& marks = marks_[request.shard];
    marks.by_queue.clear();
    marks.used_until_us = took_us > dear_us_ ? now_us + std::min(took_us * rest_after_dear, marks_age_max_us) : 0;
    marks.everywhere_after_us = now_us + took_us * rest_after_empty;
  }
  raise_marks(request, jobs);
}

void ClaimDesk::raise_marks(const ClaimRequest& request, const std::vector<HeldJob>& jobs) {
  const Mark newest_allowed{request.now_us - marks_lag_us, RunId{}};
  const std::lock_guard lock(mutex_);
  Marks& marks = marks_[request.shard];
  for (const HeldJob& held : jobs) {
    constexpr Mark lowest{std::numeric_limits<TimeUs>::min(), RunId{}};
    Mark& mark = marks.by_queue[held.job.queue].try_emplace(held.job.priority, lowest).first->second;
    mark = std::max(mark, std::min(Mark{held.job.run_at_us, held.run}, newest_allowed));
  }
}

bool ClaimDesk::uses_marks(const ClaimRequest& request) {
  const std::lock_guard lock(mutex_);
  const Marks& marks = marks_[request.shard];
  if (monotonic_us() >= marks.used_until_us) return false;
  return std::any_of(request.queues.begin(), request.queues.end(),
                     [&](const std::string& queue) { return marks.by_queue.contains(queue); });
}

bool ClaimDesk::may_look_everywhere(Shard shard) {
  const std::lock_guard lock(mutex_);
  return monotonic_us() >= marks_[shard].everywhere_after_us;
}

std::map<std::string, ClaimDesk::Levels> ClaimDesk::marks_of(Shard shard) {
  const std::lock_guard lock(mutex_);
  return marks_[shard].by_queue;
}

}  // namespace cairn
