#include "storage/commit_rules.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "engine/bounds.hpp"
#include "engine/event_types.hpp"
#include "engine/text.hpp"
#include "storage/chain.hpp"
#include "storage/limits/queue_limits.hpp"

namespace cairn {
namespace {

void check_jobs(const Entry& entry) {
  std::set<BranchId> branches, fenced;
  for (const Fence& fence : entry.fences) fenced.insert(fence.branch);
  for (const JobWrite& write : entry.jobs) {
    CHECK(branches.insert(write.job.branch).second);
    CHECK(write.op != JobWrite::Op::keep || fenced.contains(write.job.branch));
  }
}

bool holds(const Fence& fence, const std::optional<FoundJob>& job) {
  return job && job->session == fence.session && job->epoch == fence.epoch && job->step == fence.step;
}

// A fact may come from anywhere: what is no number counts nothing, and none counts more than the bound.
std::int64_t amount_in(const Json& fact, const char* field, double times) {
  const auto found = fact.find(field);
  if (found == fact.end() || !found->is_number()) return 0;
  const double amount = std::ceil(found->get<double>() * times);
  return static_cast<std::int64_t>(std::clamp(amount, 0.0, static_cast<double>(budget_amount_max)));
}

std::string archived_text(const RunId& run, const FoundTombstone& tombstone) {
  if (!tombstone.erased_by.empty())
    return "Expected to start run " + to_string(run) + ", but a run of that key has ended and was erased at " +
           time_text(tombstone.at_us) + " by " + tombstone.erased_by + ".";
  const std::string file = tombstone.file.empty() ? "the file" : tombstone.file;
  return "Expected to start run " + to_string(run) + ", but a run of that key has ended and was archived at " +
         time_text(tombstone.at_us) + " into " + file + " (SHA-256 " + hex(tombstone.file_digest) + ").";
}

// The order of the questions matters: a landed entry is committed whatever the rows hold now, and a run that should
// exist but does not is a conflict whatever its fences say.
Verdict judge_one(const Entry& entry, const Found& found) {
  Verdict verdict;
  if (found.landed) return verdict;
  if (found.tombstone) {
    verdict.kind = Verdict::Kind::archived;
    verdict.fault = archived_text(entry.run.id, *found.tombstone);
    return verdict;
  }
  if (found.run) {
    verdict.head = found.run->head;
    verdict.chain_hash = found.run->chain_hash;
  }
  const bool expected = entry.head_before == 0 ? !found.run.has_value()
                                               : found.run && found.run->head == entry.head_before &&
                                                     found.run->chain_hash == entry.chain_before;
  if (!expected) verdict.kind = Verdict::Kind::conflict;
  if (!found.run && entry.head_before != 0) return verdict;

  bool gone = false;
  for (std::size_t at = 0; at < entry.fences.size(); ++at) {
    if (holds(entry.fences[at], found.fenced[at])) continue;
    verdict.stale.push_back(entry.fences[at].branch);
    gone = gone || !found.fenced[at];
  }
  if (verdict.stale.empty()) return verdict;
  const bool ended = found.run && is_ended(found.run->status);
  verdict.kind = gone && ended ? Verdict::Kind::closed : Verdict::Kind::stale;
  return verdict;
}

// Links hold in both directions, so the refused ones are collected before any verdict is changed.
void refuse_linked(std::span<const Entry> batch, std::span<const Found> found, std::vector<Verdict>& verdicts) {
  std::set<std::uint32_t> refused;
  for (std::size_t at = 0; at < batch.size(); ++at) {
    if (batch[at].link != 0 && verdicts[at].kind != Verdict::Kind::committed) refused.insert(batch[at].link);
  }
  for (std::size_t at = 0; at < batch.size(); ++at) {
    if (verdicts[at].kind != Verdict::Kind::committed || !refused.contains(batch[at].link)) continue;
    verdicts[at] = {.kind = Verdict::Kind::conflict, .stale = {}, .fault = {}};
    if (!found[at].run) continue;
    verdicts[at].head = found[at].run->head;
    verdicts[at].chain_hash = found[at].run->chain_hash;
  }
}

}  // namespace

void check_batch(Shard shard, std::int32_t shards, std::span<const Entry> batch) {
  std::set<RunId> runs;
  for (const Entry& entry : batch) {
    CHECK(shard_of(entry.run.id, shards) == shard);
    CHECK(runs.insert(entry.run.id).second);
    CHECK(!entry.events.empty());
    std::int64_t seq = entry.head_before;
    for (const EventRow& event : entry.events) CHECK(event.seq == ++seq);
    check_jobs(entry);
  }
}

// Milliseconds above 22 random bits. Increasing even if the clock is set back: each id is above the last one.
std::int64_t next_commit_id() {
  constexpr std::int64_t since_2020_ms = 1'577'836'800'000;
  static std::atomic<std::int64_t> last{0};
  thread_local std::mt19937_64 random{std::random_device{}()};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count() - since_2020_ms;
  const std::int64_t wished = now_ms << 22 | static_cast<std::int64_t>(random() >> 42);
  std::int64_t seen = last.load();
  std::int64_t id = 0;
  do {
    id = std::max(wished, seen + 1);
  } while (!last.compare_exchange_weak(seen, id));
  return id;
}

std::int64_t commit_id_of(std::span<const Entry> batch) {
  return batch.empty() || batch.front().commit == 0 ? next_commit_id() : batch.front().commit;
}

std::vector<Hash> chain_hashes(Shard shard, const Entry& entry, std::int64_t commit) {
  std::vector<Hash> hashes;
  hashes.reserve(entry.events.size());
  Hash previous = entry.head_before == 0 ? chain_start(entry.run.id, entry.run.version) : entry.chain_before;
  for (const EventRow& event : entry.events) {
    previous = chain_next(previous, shard, entry.run.id, event, commit);
    hashes.push_back(previous);
  }
  return hashes;
}

std::vector<Verdict> judge(std::span<const Entry> batch, std::span<const Found> found) {
  CHECK(batch.size() == found.size());
  std::vector<Verdict> verdicts;
  verdicts.reserve(batch.size());
  for (std::size_t at = 0; at < batch.size(); ++at) verdicts.push_back(judge_one(batch[at], found[at]));
  refuse_linked(batch, found, verdicts);
  return verdicts;
}

std::string attempt_text(const HeldJob& held) {
  return to_string(held.run) + " " + std::to_string(held.job.step) + " " + std::to_string(held.job.attempt) + " " +
         std::to_string(held.epoch);
}

std::vector<StepUse> uses_of(const Entry& entry) {
  std::vector<StepUse> uses;
  for (const EventRow& event : entry.events) {
    if (record_kind(event.type) != RecordKind::model_called) continue;
    const auto fence = std::find_if(entry.fences.begin(), entry.fences.end(),
                                    [&](const Fence& one) { return one.step == event.step; });
    if (fence == entry.fences.end()) continue;
    const Json fact = parse_stored(event.payload);
    const StepUse call{fence->branch, amount_in(fact, "tokens_in", 1) + amount_in(fact, "tokens_out", 1),
                       amount_in(fact, "cost", budget_millionths)};
    if (call.tokens == 0 && call.cost == 0) continue;
    const auto use =
        std::find_if(uses.begin(), uses.end(), [&](const StepUse& one) { return one.branch == call.branch; });
    StepUse& of = use == uses.end() ? uses.emplace_back(StepUse{.branch = call.branch}) : *use;
    of.tokens = std::min(of.tokens + call.tokens, budget_amount_max);
    of.cost = std::min(of.cost + call.cost, budget_amount_max);
  }
  return uses;
}

TimeUs deadline_of(const Job& job, std::int64_t default_timeout_ms, TimeUs now_us) {
  constexpr std::int64_t timeout_ms_max = 1'000'000'000'000;
  const std::int64_t timeout_ms = timeout_of(job.timeout_ms, default_timeout_ms);
  if (timeout_ms <= 0) return never_us;
  return now_us + (std::min(timeout_ms, timeout_ms_max) + deadline_grace_ms) * 1000;
}

void note_no_one_waits(ClaimedBatch& batch, const QueueLimits& limits, NoOneWaits there) {
  if (limits.goes_on() == GoesOn::never) return;
  there.queue = limits.name;
  there.for_place = there.for_place && (limits.concurrency || limits.key_concurrency);
  if (there.for_place || there.for_turn || there.but_of) batch.no_one_waits.push_back(std::move(there));
}

bool matches(const RunFilter& filter, const RunRow& run) {
  if (!filter.graph.empty() && run.graph != filter.graph) return false;
  if (filter.status && run.status != *filter.status) return false;
  if (filter.waiting && run.waiting != *filter.waiting) return false;
  if (filter.parent && run.parent != filter.parent) return false;
  if (filter.since && run.started_at < *filter.since) return false;
  if (filter.until && run.started_at >= *filter.until) return false;
  if (filter.lasted_us > 0 && run.updated_at - run.started_at < filter.lasted_us) return false;
  if (!run.version.starts_with(filter.version)) return false;
  if (lowered(run.reason).find(lowered(filter.reason)) == std::string::npos) return false;
  if (!filter.error.empty() && (!run.cause || run.cause->error != filter.error)) return false;
  if (!filter.node.empty() && (!run.cause || run.cause->node != filter.node)) return false;
  if (filter.after && std::pair(run.started_at, run.id) >= *filter.after) return false;
  for (const auto& [key, value] : filter.tags) {
    const auto tag = run.tags.find(key);
    if (tag == run.tags.end() || tag->second != value) return false;
  }
  return true;
}

}  // namespace cairn
