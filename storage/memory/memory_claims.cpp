#include "storage/memory/memory_claims.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "storage/commit_rules.hpp"

namespace cairn {
namespace {

constexpr std::int32_t spent_end = 1;  // the part of a mark that has come to the end

// A job's row is due for a claim: unowned, its time has come, and its queue is asked for.
bool is_due(const HeldJob& job, const ClaimRequest& request) {
  return job.session == 0 && job.job.run_at_us <= request.now_us &&
         std::find(request.queues.begin(), request.queues.end(), job.job.queue) != request.queues.end();
}

bool is_wanted(const ClaimRequest& request, const RunId& run) {
  const auto names = [&run](const std::vector<RunId>& runs) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
  };
  return (request.only_runs.empty() || names(request.only_runs)) && !names(request.not_of);
}

}  // namespace

ClaimedBatch MemoryClaims::claim(const ClaimRequest& request) {
  const std::lock_guard lock(rows_.mutex);
  std::vector<HeldJob*> due;
  for (auto& [id, run] : rows_.runs) {
    if (shard_of(id, rows_.shards) != request.shard || !is_wanted(request, id)) continue;
    for (auto& [branch, job] : run.jobs) {
      if (is_due(job, request) && may_take(run, branch, request)) due.push_back(&job);
    }
  }
  sort_by_turn(due, request.now_us);
  const TimeUs now_us = rows_.clock();
  ClaimedBatch claimed;
  keys_first_ = !keys_first_;  // in turn, so that neither leaves nothing to the other
  if (keys_first_) take_of_keys(request, now_us, due, claimed);
  take_without_keys(request, now_us, due, claimed);
  if (!keys_first_) take_of_keys(request, now_us, due, claimed);
  std::sort(claimed.jobs.begin(), claimed.jobs.end(), [](const HeldJob& a, const HeldJob& b) {
    return std::tie(a.job.priority, a.job.run_at_us, a.run, a.job.branch) <
           std::tie(b.job.priority, b.job.run_at_us, b.run, b.job.branch);
  });
  add_short_histories(request.short_history_max, claimed);
  note_what_is_left(request, now_us, due, claimed);
  return claimed;
}

void MemoryClaims::note_what_is_left(const ClaimRequest& request, TimeUs now_us, const std::vector<HeldJob*>& due,
                                     ClaimedBatch& claimed) const {
  const bool is_whole = request.only_runs.empty() && request.not_of.empty();
  for (const auto& [name, room] : rooms_of(request.queues, now_us)) {
    const QueueLimits limits = limits_.of(name);
    JobsByKey left;
    for (HeldJob* job : due)
      if (job->session == 0 && job->job.queue == name)
        left[limits.has_keys() ? key_of(*job, limits) : ""].push_back(job);
    NoOneWaits there{.queue = name, .for_place = room.free > 0, .for_turn = is_whole && left.empty()};
    if (limits.has_keys()) {
      const std::vector<WaitingKey> keys = waiting_keys(limits, left, {}, now_us);
      const auto has_room = [](const WaitingKey& one) { return one.room > 0; };
      there.for_place = is_whole && there.for_place && !keys.empty() && std::all_of(keys.begin(), keys.end(), has_room);
      if (is_whole && keys.size() == 1) there.but_of = keys.front().key;
    }
    note_no_one_waits(claimed, limits, std::move(there));
  }
}

void MemoryClaims::take_without_keys(const ClaimRequest& request, TimeUs now_us, const std::vector<HeldJob*>& due,
                                     ClaimedBatch& claimed) {
  // Found once for all: under the lock no other claim takes from a limited queue meanwhile.
  std::map<std::string, QueueRoom> rooms = rooms_of(request.queues, now_us);
  for (HeldJob* job : due) {
    if (static_cast<std::int32_t>(claimed.jobs.size()) >= request.limit) break;
    const std::string& queue = job->job.queue;
    const QueueLimits limits = limits_.of(queue);
    if (job->session != 0 || limits.has_keys()) continue;
    if (const auto room = rooms.find(queue); room != rooms.end()) {
      if (room->second.free-- <= 0) continue;
      limits_.begin(limits, "", 1, now_us);
    }
    take(*job, request, claimed);
  }
}

// From each queue with keys, its jobs in the order in which they are due.
void MemoryClaims::take_of_keys(const ClaimRequest& request, TimeUs now_us, const std::vector<HeldJob*>& due,
                                ClaimedBatch& claimed) {
  for (const std::string& name : request.queues) {
    const QueueLimits limits = limits_.of(name);
    if (!limits.has_keys()) continue;
    const QueueRoom room = rooms_of({name}, now_us).at(name);
    std::map<std::string, std::vector<HeldJob*>> jobs;
    for (HeldJob* job : due)
      if (job->session == 0 && job->job.queue == name) jobs[key_of(*job, limits)].push_back(job);
    const std::int64_t limit = std::min<std::int64_t>(request.limit - std::ssize(claimed.jobs), room.free);
    KeyTurn& turn = limits_.turn(name, request.shard);
    for (const KeyShare& share : take_turns({waiting_keys(limits, jobs, turn, now_us)}, limit, turn)) {
      for (std::int64_t n = 0; n < share.count; ++n) {
        take(*jobs.at(share.key)[static_cast<std::size_t>(n)], request, claimed);
        claimed.jobs.back().key = share.key;
      }
      limits_.begin(limits, share.key, share.count, now_us);
    }
  }
}

void MemoryClaims::take(HeldJob& job, const ClaimRequest& request, ClaimedBatch& claimed) {
  CHECK(job.session == 0);  // pairs with is_due
  job.session = request.session;
  rows_.runs.at(job.run).at_home.erase(job.job.branch);
  ++job.epoch;
  job.deadline_us = deadline_of(job.job, request.default_timeout_ms, request.now_us);
  claimed.jobs.push_back(rows_.with_head(job));
}

bool MemoryClaims::may_take(const StoredRun& run, BranchId branch, const ClaimRequest& request) const {
  const bool is_at_home = run.at_home.contains(branch) && run.home && rows_.sessions.contains(*run.home);
  return !is_at_home || (run.home == request.session && !request.only_runs.empty());
}

std::string MemoryClaims::key_of(const HeldJob& job, const QueueLimits& limits) const {
  const StoredRun& run = rows_.runs.at(job.run);
  return limit_key(limits.key, run.row.tags, parse_stored(run.events.front().payload).value("input", Json::object()));
}

// REQUIRES: a queue with keys.
std::map<std::string, std::int64_t> MemoryClaims::held_by_key(const QueueLimits& limits) const {
  std::map<std::string, std::int64_t> held;
  const auto is_held = [&](const HeldJob& one) { return one.session != 0 && one.job.queue == limits.name; };
  for (const HeldJob& job : rows_.select(is_held, never_us)) ++held[key_of(job, limits)];
  return held;
}

// In the order in which they come round.
std::vector<WaitingKey> MemoryClaims::waiting_keys(const QueueLimits& limits, const JobsByKey& jobs,
                                                   const KeyTurn& turn, TimeUs now_us) const {
  std::map<std::string, std::int64_t> held = held_by_key(limits);
  std::vector<WaitingKey> keys;
  for (const auto& [key, waiting] : jobs) {
    const auto weight = limits.weights.find(key);
    const QueueUse use = limits_.key_use(limits.name, key, held[key]);
    keys.push_back({key, std::ssize(waiting), room_of(limits.of_key(), use, now_us).free,
                    weight == limits.weights.end() ? 1 : weight->second});
  }
  const auto first = std::find_if(keys.begin(), keys.end(), [&](const WaitingKey& one) { return one.key >= turn.key; });
  std::rotate(keys.begin(), first, keys.end());
  return keys;
}

// Those queues among these that are limited, each with its room.
std::map<std::string, QueueRoom> MemoryClaims::rooms_of(const std::vector<std::string>& queues, TimeUs now_us) const {
  std::map<std::string, QueueRoom> rooms;
  for (const std::string& name : queues) {
    const QueueLimits limits = limits_.of(name);
    if (!limits.is_limited()) continue;
    const auto is_held = [&name](const HeldJob& job) { return job.session != 0 && job.job.queue == name; };
    rooms[name] = room_of(limits, limits_.use(name, std::ssize(rows_.select(is_held, never_us))), now_us);
  }
  return rooms;
}

// By priority, as waiting raises it in queues with an ageing, then by run_at.
void MemoryClaims::sort_by_turn(std::vector<HeldJob*>& due, TimeUs now_us) const {
  using Turn = std::tuple<std::int64_t, TimeUs, std::int32_t, TimeUs, RunId, BranchId>;
  const auto turn = [&](const HeldJob& held) {
    const Job& job = held.job;
    const TimeUs ageing_us = limits_.of(job.queue).ageing_us;
    return Turn(aged_priority(job.priority, job.run_at_us, ageing_us, now_us),
                ageing_us == 0 ? job.run_at_us : aged_rank(job.priority, job.run_at_us, ageing_us), job.priority,
                job.run_at_us, held.run, job.branch);
  };
  std::sort(due.begin(), due.end(), [&](const HeldJob* a, const HeldJob* b) { return turn(*a) < turn(*b); });
}

void MemoryClaims::add_short_histories(std::int64_t events_max, ClaimedBatch& claimed) const {
  std::set<RunId> added;
  for (const HeldJob& job : claimed.jobs)
    if (job.run_head <= events_max && added.insert(job.run).second)
      claimed.histories.push_back({job.run, rows_.runs.at(job.run).events});
}

ClaimRequest MemoryClaims::without_limited(ClaimRequest request) const {
  std::erase_if(request.queues, [this](const std::string& queue) { return limits_.of(queue).is_limited(); });
  return request;
}

void MemoryClaims::count_use(const StoredRun& run, const StepUse& use) {
  const auto held = run.jobs.find(use.branch);
  if (held == run.jobs.end()) return;
  const QueueLimits limits = limits_.of(held->second.job.queue);
  if (!limits.has_budgets()) return;
  limits_.add(limits, limits.has_keys() ? key_of(held->second, limits) : "", use, rows_.clock());
}

std::vector<QueueLimits> MemoryClaims::queue_limits() {
  const std::lock_guard lock(rows_.mutex);
  return limits_.all();
}

Result<QueueLimits> MemoryClaims::change_limits(const LimitChange& change) {
  const TimeUs now_us = rows_.clock();
  const std::lock_guard lock(rows_.mutex);
  return limits_.change(change, now_us);
}

KeyCounts MemoryClaims::take_starts(const std::string& queue, const KeyCounts& asked) {
  const TimeUs now_us = rows_.clock();
  const std::lock_guard lock(rows_.mutex);
  const QueueLimits limits = limits_.of(queue);
  const auto is_held = [&queue](const HeldJob& job) { return job.session != 0 && job.job.queue == queue; };
  std::map<std::string, QueueUse> key_uses;
  if (limits.has_keys())
    for (const auto& [key, count] : held_by_key(limits)) key_uses[key].held = count;
  for (const auto& [key, count] : asked) key_uses[key] = limits_.key_use(queue, key, key_uses[key].held);
  const std::int64_t held = std::ssize(rows_.select(is_held, never_us));
  const KeyCounts taken = held_starts(limits, asked, limits_.use(queue, held), key_uses, now_us);
  for (const auto& [key, count] : taken) limits_.begin(limits, key, count, now_us);
  return taken;
}

bool MemoryClaims::others_wait(const std::string& queue, Shard shard, const std::optional<std::string>& but_of,
                               TimeUs now_us) {
  const std::lock_guard lock(rows_.mutex);
  const QueueLimits limits = limits_.of(queue);
  const auto is_of_others = [&](const HeldJob& job) {
    return job.session == 0 && job.job.queue == queue && job.job.run_at_us <= now_us &&
           shard_of(job.run, rows_.shards) == shard && key_of(job, limits) != but_of;
  };
  return !rows_.select(is_of_others, never_us).empty();
}

std::map<std::string, QueueUse> MemoryClaims::queue_uses(const std::vector<std::string>& queues) {
  const std::lock_guard lock(rows_.mutex);
  std::map<std::string, QueueUse> uses;
  for (const std::string& queue : queues) uses[queue] = limits_.use(queue, 0);
  return uses;
}

std::map<BranchId, std::string> MemoryClaims::keys_of_run(const RunId& id) {
  const std::lock_guard lock(rows_.mutex);
  std::map<BranchId, std::string> keys;
  for (const HeldJob& job : rows_.select([&](const HeldJob& one) { return one.run == id; }, never_us))
    if (const QueueLimits limits = limits_.of(job.job.queue); limits.has_keys())
      keys[job.job.branch] = key_of(job, limits);
  return keys;
}

std::map<std::string, QueueUse> MemoryClaims::key_uses(const std::string& queue, const std::vector<std::string>& keys) {
  const std::lock_guard lock(rows_.mutex);
  const std::map<std::string, std::int64_t> held = held_by_key(limits_.of(queue));
  std::map<std::string, QueueUse> uses;
  for (const std::string& key : keys) {
    const auto count = held.find(key);
    uses[key] = limits_.key_use(queue, key, count == held.end() ? 0 : count->second);
  }
  return uses;
}

std::vector<KeyUnitUse> MemoryClaims::budget_uses(const std::string& queue, std::int32_t limit) {
  const std::lock_guard lock(rows_.mutex);
  return limits_.budget_uses(queue, limit, rows_.clock());
}

std::vector<LimitChangeRow> MemoryClaims::limit_changes(const std::string& queue, std::int64_t before,
                                                        std::int32_t limit) {
  const std::lock_guard lock(rows_.mutex);
  return limits_.changes(queue, before, limit);
}

// All at once: there are no rows that a page could spare.
std::optional<std::int64_t> MemoryClaims::forget_spent(SpentMark& mark, TimeUs at_us, std::int32_t) {
  if (std::exchange(mark.part, spent_end) == spent_end) return std::nullopt;
  const std::lock_guard lock(rows_.mutex);
  return limits_.forget_spent(at_us, [this](const std::string& queue, Shard shard, const std::string& from) {
    return next_key(queue, shard, from);
  });
}

void MemoryClaims::forget_key(const std::string& queue, const std::string& key) {
  const std::lock_guard lock(rows_.mutex);
  limits_.forget_key(queue, key);
}

std::optional<std::string> MemoryClaims::next_key(const std::string& queue, Shard shard,
                                                  const std::string& from) const {
  const QueueLimits limits = limits_.of(queue);
  if (!limits.has_keys()) return std::nullopt;
  std::set<std::string> keys;
  const auto is_here = [&](const HeldJob& job) {
    return job.job.queue == queue && shard_of(job.run, rows_.shards) == shard;
  };
  for (const HeldJob& job : rows_.select(is_here, never_us)) keys.insert(key_of(job, limits));
  if (keys.empty()) return std::nullopt;
  const auto next = keys.lower_bound(from);
  return next == keys.end() ? *keys.begin() : *next;
}

}  // namespace cairn
