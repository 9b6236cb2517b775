#include "storage/memory_store.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "engine/event_types.hpp"
#include "storage/chain.hpp"
#include "storage/commit_rules.hpp"
#include "storage/limit_book.hpp"
#include "storage/limits/memory_limits.hpp"
#include "storage/starts/memory_starts.hpp"

namespace cairn {
namespace {

constexpr std::int32_t spent_end = 1;  // the part of a mark that has come to the end

// An adjustment of a held row: applied when the row is released, unless its step or attempt has changed by then.
struct Adjustment {
  StepId step = 0;
  std::int32_t attempt = 0;
  Job job;
};

struct StoredRun {
  void adjust_released(Job& job) {
    const auto found = on_release.find(job.branch);
    if (found == on_release.end()) return;
    const Adjustment& wanted = found->second;
    if (wanted.step == job.step && wanted.attempt == job.attempt) {
      job.queue = wanted.job.queue;
      job.priority = wanted.job.priority;
      job.timeout_ms = wanted.job.timeout_ms;
    }
    on_release.erase(found);
  }

  RunRow row;
  std::vector<EventRow> events;
  std::map<BranchId, HeldJob> jobs;
  std::map<BranchId, Adjustment> on_release;
  std::set<BranchId> at_home;  // free, and found by the run's home alone
  std::optional<SessionId> home = {};
  std::map<std::string, QuestionRow> questions;
  std::map<std::pair<std::int32_t, std::int64_t>, SnapshotRow> snapshots;  // by fold version and seq
  std::map<std::pair<StepId, std::int32_t>, ProgressRow> progress;         // by step and attempt
};

TimeUs system_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

// A job's row is due for a claim: unowned, its time has come, and its queue is asked for.
bool is_due(const HeldJob& job, const ClaimRequest& request) {
  return job.session == 0 && job.job.run_at_us <= request.now_us &&
         std::find(request.queues.begin(), request.queues.end(), job.job.queue) != request.queues.end();
}

bool holds(const HeldJob& job, const Fence& fence) {
  return job.session == fence.session && job.epoch == fence.epoch && job.job.step == fence.step;
}

bool is_held(const StoredRun& run, const ProgressRow& text) {
  const auto job = run.jobs.find(text.branch);
  return job != run.jobs.end() && job->second.session == text.session && job->second.job.step == text.place.step &&
         job->second.job.attempt == text.place.attempt;
}

template <class T>
void cut(std::vector<T>& values, std::int32_t limit) {
  const auto size_max = static_cast<std::size_t>(std::max(limit, 0));
  if (values.size() > size_max) values.erase(values.begin() + static_cast<std::ptrdiff_t>(size_max), values.end());
}

// With the cause of its failure, as its last event has it.
RunRow with_cause(const StoredRun& run) {
  RunRow row = run.row;
  if (row.status != RunStatus::failed && row.status != RunStatus::aborted) return row;
  const EventRow& last = run.events.back();
  if (last.type == event_type_of<RunFinished>.number)
    row.cause = read_cause(parse_stored(last.payload).value("cause", Json()));
  return row;
}

// Whether the run has ended, or gave this child up to clean up.
bool is_given_up(const StoredRun& run, const RunId& child) {
  if (is_ended(run.row.status)) return true;
  return std::any_of(run.events.begin(), run.events.end(), [&](const EventRow& event) {
    if (event.type != event_type_of<RunEnding>.number) return false;
    const Json children = parse_stored(event.payload).at("closed").at("children");
    return std::find(children.begin(), children.end(), Json(to_string(child))) != children.end();
  });
}

// "" is called by every run.
bool has_called(const StoredRun& run, const std::string& tool) {
  return tool.empty() || std::any_of(run.events.begin(), run.events.end(), [&](const EventRow& event) {
           return record_kind(event.type) == RecordKind::tool_called &&
                  parse_stored(event.payload).value("tool", Json()) == tool;
         });
}

class MemoryStore final : public Store {
 public:
  MemoryStore(std::int32_t shards, std::function<TimeUs()> clock)
      : shards_(shards), clock_(clock ? std::move(clock) : system_time) {}

  std::int32_t shards() const override { return shards_; }
  std::string identity() const override { return "memory"; }
  TimeUs database_time() override { return clock_(); }

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    const std::lock_guard lock(mutex_);
    return write_batch(shard, batch, options);
  }

  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    const std::lock_guard lock(mutex_);
    std::vector<LockedRun> locked;
    for (const KnownRun& run : runs) locked.push_back(locked_run(run, missed_bytes_max(runs.size())));
    const LockedDecision decision = decide(std::move(locked));
    if (decision.entries.empty()) return {};
    LockedCommitted committed{write_batch(shard, decision.entries, decision.options)};
    const auto is_committed = [](const Verdict& verdict) { return verdict.kind == Verdict::Kind::committed; };
    if (decision.claim && std::all_of(committed.verdicts.begin(), committed.verdicts.end(), is_committed))
      committed.claimed = claim(without_limited(*decision.claim)).jobs;
    return committed;
  }

  ClaimedBatch claim(const ClaimRequest& request) override {
    const std::lock_guard lock(mutex_);
    std::vector<HeldJob*> due;
    for (auto& [id, run] : runs_) {
      if (shard_of(id, shards_) != request.shard || !is_wanted(request, id)) continue;
      for (auto& [branch, job] : run.jobs) {
        if (is_due(job, request) && may_take(run, branch, request)) due.push_back(&job);
      }
    }
    sort_by_turn(due, request.now_us);
    const TimeUs now_us = clock_();
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
    return claimed;
  }

  void release(std::span<const std::pair<RunId, Fence>> holds_given, TimeUs run_at_us) override {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, fence] : holds_given) {
      const auto run = runs_.find(id);
      if (run == runs_.end()) continue;
      const auto job = run->second.jobs.find(fence.branch);
      if (job == run->second.jobs.end() || !holds(job->second, fence)) continue;
      job->second.session = 0;
      ++job->second
            .epoch;  // the fence of the holder that gave up, should it report all the same, is stale from here on
      job->second.deadline_us = never_us;
      run->second.adjust_released(job->second.job);
      // A run that was paused while the job was held has its jobs out of every claim's reach until it resumes.
      job->second.job.run_at_us = run->second.row.status == RunStatus::paused ? never_us : run_at_us;
    }
  }

  std::vector<HoldStanding> standing(std::span<const std::pair<RunId, Fence>> holds_given) override {
    const std::lock_guard lock(mutex_);
    std::vector<HoldStanding> found;
    for (const auto& [id, fence] : holds_given) {
      const auto run = runs_.find(id);
      const bool is_there = run != runs_.end() && run->second.jobs.contains(fence.branch);
      const bool is_held = is_there && holds(run->second.jobs.at(fence.branch), fence);
      found.push_back(is_held ? HoldStanding::held : is_there ? HoldStanding::lost : HoldStanding::gone);
    }
    return found;
  }

  std::optional<RunRow> run(const RunId& id) override {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(id);
    if (found == runs_.end()) return std::nullopt;
    return with_cause(found->second);
  }

  std::vector<std::optional<RunHead>> heads(std::span<const RunId> runs) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::optional<RunHead>> heads;
    for (const RunId& id : runs) {
      const auto found = runs_.find(id);
      const bool is_there = found != runs_.end();
      heads.push_back(is_there ? std::optional(RunHead{found->second.row.head, found->second.row.status})
                               : std::nullopt);
    }
    return heads;
  }

  std::vector<RunRow> runs(const RunFilter& filter) override {
    const std::lock_guard lock(mutex_);
    const std::set<RunId> lineage = filter.lineage ? lineage_of(*filter.lineage) : std::set<RunId>{};
    std::vector<RunRow> rows;
    for (const auto& [id, run] : runs_) {
      if (filter.lineage && !lineage.contains(id)) continue;
      if (RunRow row = with_cause(run); matches(filter, row) && has_called(run, filter.tool))
        rows.push_back(std::move(row));
    }
    std::sort(rows.begin(), rows.end(), [](const RunRow& a, const RunRow& b) {
      return std::tie(a.started_at, a.id) > std::tie(b.started_at, b.id);
    });
    cut(rows, filter.limit);
    return rows;
  }

  std::int64_t count_runs(const RunFilter& filter, std::int64_t at_most) override {
    const std::lock_guard lock(mutex_);
    RunFilter all = filter;
    all.after.reset();
    std::int64_t count = 0;
    for (const auto& [id, run] : runs_)
      if (matches(all, with_cause(run)) && has_called(run, all.tool)) ++count;
    return std::min(count, at_most);
  }

  std::vector<RunId> runs_between(const RunId& first, const RunId& last, std::int32_t limit) override {
    const std::lock_guard lock(mutex_);
    std::vector<RunId> found;
    for (auto run = runs_.lower_bound(first); run != runs_.end() && !(last < run->first); ++run) {
      if (found.size() >= static_cast<std::size_t>(std::max(limit, 0))) break;
      found.push_back(run->first);
    }
    return found;
  }

  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    const std::lock_guard lock(mutex_);
    std::vector<EventRow> found;
    const auto run = runs_.find(id);
    if (run == runs_.end()) return found;
    for (const EventRow& event : run->second.events) {
      if (event.seq > after_seq && found.size() < static_cast<std::size_t>(std::max(limit, 0))) found.push_back(event);
    }
    return found;
  }

  std::optional<SnapshotRow> snapshot(const RunId& id, std::int32_t fold_version, std::int64_t at_most) override {
    const std::lock_guard lock(mutex_);
    const auto run = runs_.find(id);
    if (run == runs_.end()) return std::nullopt;
    const auto& snapshots = run->second.snapshots;
    auto after = snapshots.upper_bound({fold_version, at_most});
    if (after == snapshots.begin()) return std::nullopt;
    --after;
    if (after->first.first != fold_version) return std::nullopt;
    return after->second;
  }

  void put_snapshot(const RunId& id, const SnapshotRow& snapshot) override {
    const std::lock_guard lock(mutex_);
    const auto run = runs_.find(id);
    if (run == runs_.end() || is_ended(run->second.row.status)) return;
    auto& snapshots = run->second.snapshots;
    // The one before stays: a reader may have chosen it, and a damaged last one costs a longer fold, not all of it.
    auto older = snapshots.insert_or_assign({snapshot.fold_version, snapshot.seq}, snapshot).first;
    if (older != snapshots.begin() && std::prev(older)->first.first == snapshot.fold_version) --older;
    snapshots.erase(snapshots.begin(), older);
  }
  void drop_snapshots(const RunId& id) override {
    const std::lock_guard lock(mutex_);
    const auto run = runs_.find(id);
    if (run != runs_.end() && is_ended(run->second.row.status)) run->second.snapshots.clear();
  }

  std::vector<QuestionRow> questions(const RunId& id, std::int32_t limit) override {
    const std::lock_guard lock(mutex_);
    std::vector<QuestionRow> open;
    for (const auto& [run, stored] : runs_) {
      if (!id.is_nil() && run != id) continue;
      for (const auto& [name, question] : stored.questions) open.push_back(question);
    }
    std::sort(open.begin(), open.end(), [](const QuestionRow& a, const QuestionRow& b) {
      return std::tie(a.asked_at, a.run, a.id) < std::tie(b.asked_at, b.run, b.id);
    });
    cut(open, limit);
    return open;
  }

  std::vector<QuestionRow> questions_after(const QuestionPlace& after, std::int32_t limit,
                                           std::int64_t bytes_max) override {
    std::vector<QuestionRow> open = questions(RunId{}, std::numeric_limits<std::int32_t>::max());
    std::erase_if(open, [&after](const QuestionRow& one) {
      return std::tie(one.asked_at, one.run, one.id) <= std::tie(after.asked_at, after.run, after.id);
    });
    cut(open, limit);
    std::int64_t bytes = 0;
    const auto beyond = std::find_if(open.begin(), open.end(), [&](const QuestionRow& one) {
      bytes += std::ssize(canonical(one.prompt)) + std::ssize(canonical(one.schema)) +
               (one.fallback ? std::ssize(canonical(*one.fallback)) : 0);
      return bytes > bytes_max;
    });
    if (beyond != open.end()) open.erase(std::max(beyond, open.begin() + 1), open.end());
    return open;
  }

  void put_blob(Shard shard, const Hash& hash, std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    blobs_.try_emplace({shard, hash}, bytes);
  }

  bool renew_blobs(Shard shard, std::span<const Hash> hashes) override {
    const std::lock_guard lock(mutex_);
    return std::all_of(hashes.begin(), hashes.end(), [&](const Hash& hash) { return blobs_.contains({shard, hash}); });
  }

  std::optional<std::string> blob(Shard shard, const Hash& hash) override {
    const std::lock_guard lock(mutex_);
    const auto found = blobs_.find({shard, hash});
    if (found == blobs_.end()) return std::nullopt;
    return found->second;
  }

  void put_checkpoint(const Checkpoint&) override {}  // nothing outlives the process, so there is nothing to prove

  void put_graph(const GraphRow& graph) override {
    const TimeUs now_us = database_time();  // before the lock: a test's clock may look into the store
    const std::lock_guard lock(mutex_);
    GraphRow& stored = graphs_.try_emplace({graph.name, graph.version}, graph).first->second;
    const bool is_new = stored.at_us == 0;
    const bool becomes_current = graph.current && (is_new || !stored.current);
    if (is_new || becomes_current) {
      stored.actor = graph.actor;
      stored.at_us = now_us;
    }
    if (!graph.current) return;
    for (auto& [key, row] : graphs_) {
      if (key.first == graph.name) row.current = key.second == graph.version;
    }
  }

  std::vector<GraphRow> graphs() override {
    const std::lock_guard lock(mutex_);
    std::vector<GraphRow> rows;
    for (const auto& [key, row] : graphs_) rows.push_back(row);
    return rows;
  }

  std::vector<HeldJob> jobs(const RunId& id) override {
    const std::lock_guard lock(mutex_);
    std::vector<HeldJob> jobs = select([&](const HeldJob& job) { return job.run == id; }, never_us);
    for (HeldJob& job : jobs)
      if (const StoredRun& run = runs_.at(id); run.at_home.contains(job.job.branch)) job.home = run.home.value_or(0);
    return jobs;
  }

  std::vector<QueueRow> queues() override {
    const TimeUs now_us = database_time();
    const std::lock_guard lock(mutex_);
    std::map<std::string, QueueRow> queues;
    for (const auto& [id, run] : runs_) {
      for (const auto& [branch, job] : run.jobs) count(queues[job.job.queue], job, now_us);
    }
    std::vector<QueueRow> rows;
    for (auto& [name, row] : queues) rows.push_back(std::move(row));
    return rows;
  }

  StartBook& starts() override { return start_book_; }
  LimitBook& limits() override { return book_; }
  std::vector<QueueLimits> queue_limits() {
    const std::lock_guard lock(mutex_);
    return limits_.all();
  }

  Result<QueueLimits> change_limits(const LimitChange& change) {
    const TimeUs now_us = clock_();
    const std::lock_guard lock(mutex_);
    return limits_.change(change, now_us);
  }

  std::int64_t take_starts(const std::string& queue, std::int64_t count) {
    const TimeUs now_us = clock_();
    const std::lock_guard lock(mutex_);
    const QueueLimits limits = limits_.of(queue);
    const std::int64_t taken = std::min(count, room_of_held(limits, limits_.use(queue, 0), now_us).free);
    limits_.begin(limits, "", taken, now_us);
    return taken;
  }

  std::map<std::string, QueueUse> queue_uses(const std::vector<std::string>& queues) {
    const std::lock_guard lock(mutex_);
    std::map<std::string, QueueUse> uses;
    for (const std::string& queue : queues) uses[queue] = limits_.use(queue, 0);
    return uses;
  }

  std::map<BranchId, std::string> keys_of_run(const RunId& id) {
    const std::lock_guard lock(mutex_);
    std::map<BranchId, std::string> keys;
    for (const HeldJob& job : select([&](const HeldJob& one) { return one.run == id; }, never_us))
      if (const QueueLimits limits = limits_.of(job.job.queue); limits.has_keys())
        keys[job.job.branch] = key_of(job, limits);
    return keys;
  }

  std::map<std::string, QueueUse> key_uses(const std::string& queue, const std::vector<std::string>& keys) {
    const std::lock_guard lock(mutex_);
    const std::map<std::string, std::int64_t> held = held_by_key(limits_.of(queue));
    std::map<std::string, QueueUse> uses;
    for (const std::string& key : keys) {
      const auto count = held.find(key);
      uses[key] = limits_.key_use(queue, key, count == held.end() ? 0 : count->second);
    }
    return uses;
  }

  std::vector<KeyUnitUse> budget_uses(const std::string& queue, std::int32_t limit) {
    const std::lock_guard lock(mutex_);
    return limits_.budget_uses(queue, limit, clock_());
  }

  std::vector<LimitChangeRow> limit_changes(const std::string& queue, std::int64_t before, std::int32_t limit) {
    const std::lock_guard lock(mutex_);
    return limits_.changes(queue, before, limit);
  }

  // All at once: there are no rows that a page could spare.
  std::optional<std::int64_t> forget_spent(SpentMark& mark, TimeUs at_us, std::int32_t) {
    if (std::exchange(mark.part, spent_end) == spent_end) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return limits_.forget_spent(at_us, [this](const std::string& queue, Shard shard, const std::string& from) {
      return next_key(queue, shard, from);
    });
  }

  void forget_key(const std::string& queue, const std::string& key) {
    const std::lock_guard lock(mutex_);
    limits_.forget_key(queue, key);
  }

  void open_session(const SessionRow& session) override {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = sessions_.try_emplace(session.id, session);
    if (is_new) return;
    found->second.queues = session.queues;
    found->second.handlers = session.handlers;
    found->second.tools = session.tools;
    found->second.declares = session.declares;
  }
  void end_stalled(std::int64_t) override {}

  void beat(SessionId session) override {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    ++found->second.counter;
    found->second.beat_at = clock_();
  }
  void set_alone(SessionId session, const std::string& hold) override {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(session);
    if (found != sessions_.end()) found->second.alone = hold;
  }
  void set_begun(SessionId session, const std::vector<std::string>& attempts) override {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(session);
    if (found != sessions_.end()) found->second.begun = attempts;
  }
  void close_session(SessionId session) override {
    const std::lock_guard lock(mutex_);
    sessions_.erase(session);
    for (auto& [id, run] : runs_) {
      if (run.home == session) run.home.reset();
      std::erase_if(run.progress, [&](const auto& entry) {
        return entry.second.session == session || !sessions_.contains(entry.second.session);
      });
    }
  }
  void set_home(SessionId session, const RunId& id, bool is_home) override {
    const std::lock_guard lock(mutex_);
    const auto run = runs_.find(id);
    if (run == runs_.end()) return;
    if (is_home)
      run->second.home = session;
    else if (run->second.home == session)
      run->second.home.reset();
  }

  void put_progress(SessionId session, std::span<const ProgressRow> texts,
                    std::span<const ProgressPlace> ended) override {
    const std::lock_guard lock(mutex_);
    for (const ProgressPlace& place : ended) {
      const auto run = runs_.find(place.run);
      if (run == runs_.end()) continue;
      const auto text = run->second.progress.find({place.step, place.attempt});
      if (text != run->second.progress.end() && text->second.session == session) run->second.progress.erase(text);
    }
    for (ProgressRow row : texts) {
      const auto run = runs_.find(row.place.run);
      row.session = session;
      row.at_us = clock_();
      if (run != runs_.end() && is_held(run->second, row))
        run->second.progress.insert_or_assign({row.place.step, row.place.attempt}, std::move(row));
    }
  }

  std::vector<ProgressRow> progress(const RunId& id) override {
    const std::lock_guard lock(mutex_);
    const auto run = runs_.find(id);
    std::vector<ProgressRow> rows;
    if (run == runs_.end()) return rows;
    for (const auto& [place, row] : run->second.progress)
      if (is_held(run->second, row)) rows.push_back(row);
    cut(rows, progress_rows_max);
    return rows;
  }

  std::vector<SessionRow> sessions() override {
    const std::lock_guard lock(mutex_);
    std::vector<SessionRow> rows;
    for (const auto& entry : sessions_) {
      const SessionRow& session = entry.second;
      rows.push_back(session);
    }
    std::sort(rows.begin(), rows.end(), [](const SessionRow& a, const SessionRow& b) {
      return std::tie(a.started_at, a.id) < std::tie(b.started_at, b.id);
    });
    return rows;
  }

  std::vector<HeldJob> held_by(SessionId session, std::int32_t limit, RunShare share) override {
    const std::lock_guard lock(mutex_);
    const auto is_shared = [&](const RunId& run) {
      return std::hash<RunId>()(run) % static_cast<std::size_t>(share.of) == static_cast<std::size_t>(share.index);
    };
    return select([&](const HeldJob& job) { return job.session == session && session != 0 && is_shared(job.run); },
                  limit);
  }
  HeldScan scan_held(SessionId session, TimeUs now_us, std::int32_t limit) override {
    const std::lock_guard lock(mutex_);
    const auto is_own = [&](const HeldJob& job) { return job.session == session; };
    const auto is_overdue = [&](const HeldJob& job) { return job.deadline_us < now_us; };
    const auto is_unowned = [&](const HeldJob& job) { return !sessions_.contains(job.session); };
    const std::vector<HeldJob> found = select(
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
  MemoryQueue queue() const {
    const std::lock_guard lock(mutex_);
    MemoryQueue queue;
    for (const auto& [id, run] : runs_)
      for (const auto& [branch, job] : run.jobs) {
        if (job.session == 0)
          queue.next_due = std::min(queue.next_due, job.job.run_at_us);
        else
          ++(sessions_.contains(job.session) ? queue.held : queue.lost);
      }
    return queue;
  }
  std::map<SessionId, std::int64_t> held_counts() override {
    const std::lock_guard lock(mutex_);
    std::map<SessionId, std::int64_t> counts;
    for (const HeldJob& job : select([](const HeldJob& held) { return held.session != 0; }, never_us))
      ++counts[job.session];
    return counts;
  }

  std::vector<RunId> orphans(OrphanMark& mark, std::int32_t limit) override {
    const std::lock_guard lock(mutex_);
    std::multimap<std::pair<Shard, RunId>, RunId> children;  // open ones, by their parents
    for (const auto& [id, run] : runs_)
      if (run.row.parent && !is_ended(run.row.status) && run.row.reason.empty())
        children.emplace(std::pair(shard_of(id, shards_), *run.row.parent), id);
    std::vector<RunId> found;
    auto child = children.upper_bound({mark.shard, mark.parent});
    mark = {};  // the end is reached unless the limit is: the next round begins from the start
    for (std::int32_t n = 0; n < limit && child != children.end(); ++n, ++child) {
      const auto parent = runs_.find(child->first.second);
      if (parent != runs_.end() && is_given_up(parent->second, child->second)) found.push_back(child->second);
      if (n + 1 == limit) mark = {child->first.first, child->first.second};
    }
    return found;
  }

  std::vector<LooseEnd> loose_ends(const RunId& after, std::int32_t limit) override {
    const std::lock_guard lock(mutex_);
    std::vector<LooseEnd> ends;
    const auto place = [this](const RunId& id) { return std::pair(shard_of(id, shards_), id); };
    for (const RunId& id : loose_ends_) {
      if (!after.is_nil() && place(id) <= place(after)) continue;
      const auto caller = runs_.find(*runs_.at(id).row.parent);
      ends.push_back({id, caller != runs_.end() && !is_ended(caller->second.row.status)});
    }
    std::sort(ends.begin(), ends.end(),
              [&](const LooseEnd& a, const LooseEnd& b) { return place(a.run) < place(b.run); });
    cut(ends, limit);
    return ends;
  }
  void tie_ends(std::span<const RunId> runs) override {
    const std::lock_guard lock(mutex_);
    for (const RunId& run : runs) loose_ends_.erase(run);
  }

  void notify() override {
    const std::lock_guard lock(mutex_);
    count_notification();
  }

  void archive(const RunId& id, const FoundTombstone& tombstone) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(id);
    CHECK(found != runs_.end() && is_ended(found->second.row.status));
    runs_.erase(found);
    archived_.emplace(id, tombstone);
  }

  bool await_notification(std::int64_t timeout_ms) override {
    std::unique_lock lock(mutex_);
    std::uint64_t& seen = seen_[std::this_thread::get_id()];
    const bool is_new =
        notified_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return notifications_ != seen; });
    seen = notifications_;  // of this thread: each listener hears every notification once, as on its own connection
    return is_new;
  }

 private:
  // REQUIRES: the lock is held.
  void count_notification() {
    ++notifications_;
    notified_.notify_all();
  }

  void add_short_histories(std::int64_t events_max, ClaimedBatch& claimed) const {
    std::set<RunId> added;
    for (const HeldJob& job : claimed.jobs)
      if (job.run_head <= events_max && added.insert(job.run).second)
        claimed.histories.push_back({job.run, runs_.at(job.run).events});
  }

  Found find(const Entry& entry, const Hash& last) const {
    Found found;
    found.fenced.resize(entry.fences.size());
    const auto run = runs_.find(entry.run.id);
    if (const auto gone = archived_.find(entry.run.id);
        run == runs_.end() && entry.head_before == 0 && gone != archived_.end())
      found.tombstone = gone->second;
    if (run == runs_.end()) return found;
    const auto place = static_cast<std::size_t>(entry.events.back().seq - 1);
    const std::vector<EventRow>& events = run->second.events;
    found.landed = entry.in_doubt && place < events.size() && events[place].chain_hash == last;
    const RunRow& row = run->second.row;
    found.run = FoundRun{row.head, row.chain_hash, row.status};
    for (std::size_t at = 0; at < entry.fences.size(); ++at) {
      const auto job = run->second.jobs.find(entry.fences[at].branch);
      if (job == run->second.jobs.end()) continue;
      found.fenced[at] = FoundJob{job->second.session, job->second.epoch, job->second.job.step};
    }
    return found;
  }

  std::vector<Verdict> write_batch(Shard shard, std::span<const Entry> batch, CommitOptions options) {
    check_batch(shard, shards_, batch);
    const std::int64_t commit = commit_id_of(batch);
    // All entries are judged before any is written: linked ones share a verdict.
    std::vector<Found> found;
    std::vector<std::vector<Hash>> hashes;
    for (const Entry& entry : batch) {
      hashes.push_back(chain_hashes(shard, entry, commit));
      found.push_back(find(entry, hashes.back().back()));
    }
    std::vector<Verdict> verdicts = judge(batch, found);
    for (std::size_t at = 0; at < batch.size(); ++at) {
      if (verdicts[at].kind == Verdict::Kind::committed) {
        if (!found[at].landed) write(batch[at], commit, hashes[at]);
        verdicts[at].head = batch[at].events.back().seq;
        verdicts[at].chain_hash = hashes[at].back();
      }
    }
    if (options.notify) count_notification();
    return verdicts;
  }

  void write(const Entry& entry, std::int64_t commit, const std::vector<Hash>& hashes) {
    StoredRun& run = runs_[entry.run.id];
    CHECK(run.row.head == entry.head_before && hashes.size() == entry.events.size());  // pairs with judge
    if (entry.head_before == 0) run.row = entry.run;
    for (const StepUse& use : uses_of(entry)) count_use(run, use);
    for (std::size_t at = 0; at < hashes.size(); ++at) {
      run.events.push_back(entry.events[at]);
      run.events.back().commit = commit;
      run.events.back().chain_hash = hashes[at];
    }
    run.row.status = entry.run.status;
    run.row.waiting = entry.run.waiting;
    run.row.version = entry.run.version;
    run.row.updated_at = entry.run.updated_at;
    run.row.reason = entry.run.reason;
    run.row.head = entry.events.back().seq;
    run.row.chain_hash = hashes.back();
    const bool is_loose = run.row.parent && is_ended(run.row.status) && !entry.caller_knows;
    is_loose ? void(loose_ends_.insert(entry.run.id)) : void(loose_ends_.erase(entry.run.id));
    for (const JobWrite& job : entry.jobs) {
      write_job(run, entry, job);
      const bool stays_home = job.op == JobWrite::Op::offer && has_home(run, job.job.queue);
      if (job.op != JobWrite::Op::adjust) run.at_home.erase(job.job.branch);
      if (stays_home) run.at_home.insert(job.job.branch);
    }
    for (const std::string& question : entry.closed_questions) run.questions.erase(question);
    for (const QuestionRow& question : entry.asked) {
      run.questions[question.id] = question;
      run.questions[question.id].run = entry.run.id;
    }
  }

  // Before the jobs are written: to the queue in which the step was held.
  void count_use(const StoredRun& run, const StepUse& use) {
    const auto held = run.jobs.find(use.branch);
    if (held == run.jobs.end()) return;
    const QueueLimits limits = limits_.of(held->second.job.queue);
    if (!limits.has_budgets()) return;
    limits_.add(limits, limits.has_keys() ? key_of(held->second, limits) : "", use, clock_());
  }

  bool has_home(const StoredRun& run, const std::string& queue) const {
    const auto home = run.home ? sessions_.find(*run.home) : sessions_.end();
    if (home == sessions_.end()) return false;
    const std::vector<std::string>& queues = home->second.queues;
    return std::find(queues.begin(), queues.end(), queue) != queues.end();
  }

  bool may_take(const StoredRun& run, BranchId branch, const ClaimRequest& request) const {
    const bool is_at_home = run.at_home.contains(branch) && run.home && sessions_.contains(*run.home);
    return !is_at_home || (run.home == request.session && !request.only_runs.empty());
  }

  static void write_job(StoredRun& run, const Entry& entry, const JobWrite& write) {
    const Job& job = write.job;
    const auto row = run.jobs.find(job.branch);
    const bool exists = row != run.jobs.end();
    switch (write.op) {
      case JobWrite::Op::offer: {
        // Above all epochs that the branch ever had: a row that was dropped and comes again must refuse old fences.
        const std::int64_t epoch = exists ? row->second.epoch + 1 : first_epoch(entry.events.back().seq);
        run.on_release.erase(job.branch);
        run.jobs[job.branch] = {entry.run.id, job, 0, epoch, never_us, 0};
        return;
      }
      case JobWrite::Op::keep:
        CHECK(exists);
        row->second.job.step = job.step;
        row->second.job.attempt = job.attempt;
        row->second.job.timeout_ms = job.timeout_ms;
        row->second.deadline_us = write.deadline_us;
        return;
      case JobWrite::Op::insert_held:
        CHECK(!exists);
        run.jobs[job.branch] = {entry.run.id, job, write.session, 1, write.deadline_us, 0};
        return;
      case JobWrite::Op::adjust:
        if (!exists) return;
        // The holder has the old settings in its hands, and its fence must stay what it is.
        if (row->second.session != 0) {
          run.on_release[job.branch] = {row->second.job.step, row->second.job.attempt, job};
          return;
        }
        row->second.job.queue = job.queue;
        row->second.job.priority = job.priority;
        row->second.job.run_at_us = job.run_at_us;
        row->second.job.timeout_ms = job.timeout_ms;
        run.on_release.erase(job.branch);
        return;
      case JobWrite::Op::drop:
        run.on_release.erase(job.branch);
        run.jobs.erase(job.branch);
        return;
    }
  }

  LockedRun locked_run(const KnownRun& known, std::int64_t bytes_max) const {
    const auto found = runs_.find(known.id);
    if (found == runs_.end()) return {};
    const std::vector<EventRow>& events = found->second.events;
    const auto first = std::min(static_cast<std::ptrdiff_t>(known.head), std::ssize(events));
    auto last = first;
    for (std::int64_t bytes = 0; last < std::min(first + missed_events_max, std::ssize(events)); ++last) {
      bytes += std::ssize(events[static_cast<std::size_t>(last)].payload);
      if (bytes > bytes_max) break;
    }
    const RunRow& row = found->second.row;
    return {row.head, row.chain_hash, {events.begin() + first, events.begin() + last}};
  }

  void take(HeldJob& job, const ClaimRequest& request, ClaimedBatch& claimed) {
    CHECK(job.session == 0);  // pairs with is_due
    job.session = request.session;
    runs_.at(job.run).at_home.erase(job.job.branch);
    ++job.epoch;
    job.deadline_us = deadline_of(job.job, request.default_timeout_ms, request.now_us);
    claimed.jobs.push_back(with_head(job));
  }

  std::string key_of(const HeldJob& job, const QueueLimits& limits) const {
    const StoredRun& run = runs_.at(job.run);
    return limit_key(limits.key, run.row.tags, parse_stored(run.events.front().payload).value("input", Json::object()));
  }

  void take_without_keys(const ClaimRequest& request, TimeUs now_us, const std::vector<HeldJob*>& due,
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
  void take_of_keys(const ClaimRequest& request, TimeUs now_us, const std::vector<HeldJob*>& due,
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
        for (std::int64_t n = 0; n < share.count; ++n)
          take(*jobs.at(share.key)[static_cast<std::size_t>(n)], request, claimed);
        limits_.begin(limits, share.key, share.count, now_us);
      }
    }
  }

  std::optional<std::string> next_key(const std::string& queue, Shard shard, const std::string& from) const {
    const QueueLimits limits = limits_.of(queue);
    if (!limits.has_keys()) return std::nullopt;
    std::set<std::string> keys;
    const auto is_here = [&](const HeldJob& job) {
      return job.job.queue == queue && shard_of(job.run, shards_) == shard;
    };
    for (const HeldJob& job : select(is_here, never_us)) keys.insert(key_of(job, limits));
    if (keys.empty()) return std::nullopt;
    const auto next = keys.lower_bound(from);
    return next == keys.end() ? *keys.begin() : *next;
  }

  // REQUIRES: a queue with keys.
  std::map<std::string, std::int64_t> held_by_key(const QueueLimits& limits) const {
    std::map<std::string, std::int64_t> held;
    const auto is_held = [&](const HeldJob& one) { return one.session != 0 && one.job.queue == limits.name; };
    for (const HeldJob& job : select(is_held, never_us)) ++held[key_of(job, limits)];
    return held;
  }

  // In the order in which they come round.
  std::vector<WaitingKey> waiting_keys(const QueueLimits& limits,
                                       const std::map<std::string, std::vector<HeldJob*>>& jobs, const KeyTurn& turn,
                                       TimeUs now_us) const {
    std::map<std::string, std::int64_t> held = held_by_key(limits);
    std::vector<WaitingKey> keys;
    for (const auto& [key, waiting] : jobs) {
      const auto weight = limits.weights.find(key);
      const QueueUse use = limits_.key_use(limits.name, key, held[key]);
      keys.push_back({key, std::ssize(waiting), room_of(limits.of_key(), use, now_us).free,
                      weight == limits.weights.end() ? 1 : weight->second});
    }
    const auto first =
        std::find_if(keys.begin(), keys.end(), [&](const WaitingKey& one) { return one.key >= turn.key; });
    std::rotate(keys.begin(), first, keys.end());
    return keys;
  }

  ClaimRequest without_limited(ClaimRequest request) const {
    std::erase_if(request.queues, [this](const std::string& queue) { return limits_.of(queue).is_bound(); });
    return request;
  }

  // Those queues among these that are bound, each with its room.
  std::map<std::string, QueueRoom> rooms_of(const std::vector<std::string>& queues, TimeUs now_us) const {
    std::map<std::string, QueueRoom> rooms;
    for (const std::string& name : queues) {
      const QueueLimits limits = limits_.of(name);
      if (!limits.is_bound()) continue;
      const auto is_held = [&name](const HeldJob& job) { return job.session != 0 && job.job.queue == name; };
      rooms[name] = room_of(limits, limits_.use(name, std::ssize(select(is_held, never_us))), now_us);
    }
    return rooms;
  }

  // By priority, as waiting raises it in queues with an ageing, then by run_at.
  void sort_by_turn(std::vector<HeldJob*>& due, TimeUs now_us) const {
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

  static bool is_wanted(const ClaimRequest& request, const RunId& run) {
    const auto names = [&run](const std::vector<RunId>& runs) {
      return std::find(runs.begin(), runs.end(), run) != runs.end();
    };
    return (request.only_runs.empty() || names(request.only_runs)) && !names(request.not_of);
  }

  HeldJob with_head(const HeldJob& job) const {
    HeldJob whole = job;
    whole.run_head = runs_.at(job.run).row.head;
    return whole;
  }

  template <class Matches>
  std::vector<HeldJob> select(const Matches& is_match, std::int64_t limit) const {
    std::vector<HeldJob> jobs;
    for (const auto& [id, run] : runs_) {
      for (const auto& [branch, job] : run.jobs) {
        if (static_cast<std::int64_t>(jobs.size()) < limit && is_match(job)) jobs.push_back(with_head(job));
      }
    }
    return jobs;
  }

  static void count(QueueRow& queue, const HeldJob& job, TimeUs now_us) {
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

  std::set<RunId> lineage_of(const RunId& id) const {
    std::set<RunId> lineage;
    for (std::optional<RunId> next = id; next && runs_.contains(*next) && lineage.insert(*next).second;) {
      next = predecessor(runs_.at(*next).row);
    }
    for (bool grew = true; grew;) {
      grew = false;
      for (const auto& [run, stored] : runs_) {
        const RunRow& row = stored.row;
        const bool is_next = (row.continues && lineage.contains(*row.continues)) ||
                             (row.forked_from && lineage.contains(row.forked_from->run));
        grew = (is_next && lineage.insert(run).second) || grew;
      }
    }
    return lineage;
  }

  const std::int32_t shards_;
  const std::function<TimeUs()> clock_;
  LimitBook book_ = limit_book_of(*this);
  MemoryStarts starts_{clock_};
  StartBook start_book_ = start_book_of(starts_);
  bool keys_first_ = false;
  mutable std::recursive_mutex mutex_;  // a test may look while an entry is decided under the lock
  std::condition_variable_any notified_;
  std::uint64_t notifications_ = 0;
  std::map<std::thread::id, std::uint64_t> seen_;
  std::map<RunId, StoredRun> runs_;
  std::set<RunId> loose_ends_;
  std::map<RunId, FoundTombstone> archived_;
  std::map<std::pair<Shard, Hash>, std::string> blobs_;
  std::map<std::pair<std::string, std::string>, GraphRow> graphs_;
  std::map<SessionId, SessionRow> sessions_;
  MemoryLimits limits_;
};

}  // namespace

std::unique_ptr<Store> make_memory_store(std::int32_t shards, std::function<TimeUs()> clock) {
  CHECK(shards >= 1);
  return std::make_unique<MemoryStore>(shards, std::move(clock));
}

MemoryQueue queue_in_memory(Store& store) {
  auto* memory = dynamic_cast<MemoryStore*>(&store);
  CHECK(memory != nullptr);
  return memory->queue();
}

void archive_in_memory(Store& store, const RunId& run, const std::string& file, const Hash& file_digest) {
  auto* memory = dynamic_cast<MemoryStore*>(&store);
  CHECK(memory != nullptr);
  memory->archive(run, {store.database_time(), file, file_digest});
}

}  // namespace cairn
