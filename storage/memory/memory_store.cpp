#include "storage/memory/memory_store.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "storage/chain.hpp"
#include "storage/commit_rules.hpp"
#include "storage/limit_book.hpp"
#include "storage/memory/memory_claims.hpp"
#include "storage/memory/memory_graphs.hpp"
#include "storage/memory/memory_jobs.hpp"
#include "storage/memory/memory_progress.hpp"
#include "storage/memory/memory_runs.hpp"
#include "storage/memory/memory_sessions.hpp"
#include "storage/memory/memory_snapshots.hpp"
#include "storage/memory/memory_values.hpp"
#include "storage/starts/memory_starts.hpp"

namespace cairn {
namespace {

TimeUs system_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

class MemoryStore final : public Store {
 public:
  MemoryStore(std::int32_t shards, std::function<TimeUs()> clock)
      : rows_{shards, clock ? std::move(clock) : system_time} {}

  std::int32_t shards() const override { return rows_.shards; }
  std::string identity() const override { return "memory"; }
  TimeUs database_time() override { return rows_.clock(); }

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    const std::lock_guard lock(rows_.mutex);
    return write_batch(shard, batch, options);
  }

  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    const std::lock_guard lock(rows_.mutex);
    std::vector<LockedRun> locked;
    for (const KnownRun& run : runs) locked.push_back(locked_run(run, missed_bytes_max(runs.size())));
    const LockedDecision decision = decide(std::move(locked));
    if (decision.entries.empty()) return {};
    LockedCommitted committed{write_batch(shard, decision.entries, decision.options)};
    const auto is_committed = [](const Verdict& verdict) { return verdict.kind == Verdict::Kind::committed; };
    if (decision.claim && std::all_of(committed.verdicts.begin(), committed.verdicts.end(), is_committed))
      committed.claimed = claims_.claim(claims_.without_limited(*decision.claim)).jobs;
    return committed;
  }

  ClaimedBatch claim(const ClaimRequest& request) override { return claims_.claim(request); }

  std::optional<RunRow> run(const RunId& id) override { return runs_.run(id); }
  std::vector<RunRow> runs(const RunFilter& filter) override { return runs_.runs(filter); }

  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    const std::lock_guard lock(rows_.mutex);
    std::vector<EventRow> found;
    const auto run = rows_.runs.find(id);
    if (run == rows_.runs.end()) return found;
    for (const EventRow& event : run->second.events) {
      if (event.seq > after_seq && found.size() < static_cast<std::size_t>(std::max(limit, 0))) found.push_back(event);
    }
    return found;
  }

  void put_checkpoint(const Checkpoint&) override {}  // nothing outlives the process, so there is nothing to prove

  RunBook& all_runs() override { return run_book_; }
  SnapshotBook& snapshots() override { return snapshot_book_; }
  ValueBook& values() override { return value_book_; }
  JobBook& jobs() override { return job_book_; }
  ProgressBook& progress() override { return progress_book_; }
  SessionBook& sessions() override { return session_book_; }
  GraphBook& graphs() override { return graph_book_; }
  LimitBook& limits() override { return limit_book_; }
  StartBook& starts() override { return start_book_; }

  void notify() override {
    const std::lock_guard lock(rows_.mutex);
    count_notification();
  }

  MemoryQueue queue() const {
    const std::lock_guard lock(rows_.mutex);
    MemoryQueue queue;
    for (const auto& [id, run] : rows_.runs)
      for (const auto& [branch, job] : run.jobs) {
        if (job.session == 0)
          queue.next_due = std::min(queue.next_due, job.job.run_at_us);
        else
          ++(rows_.sessions.contains(job.session) ? queue.held : queue.lost);
      }
    return queue;
  }

  void archive(const RunId& id, const FoundTombstone& tombstone) {
    const std::lock_guard lock(rows_.mutex);
    const auto found = rows_.runs.find(id);
    CHECK(found != rows_.runs.end() && is_ended(found->second.row.status));
    rows_.runs.erase(found);
    archived_.emplace(id, tombstone);
  }

  void notify_here() override { notify(); }
  bool await_notification(std::int64_t timeout_ms, NotifiedBy) override {
    std::unique_lock lock(rows_.mutex);
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

  Found find(const Entry& entry, const Hash& last) const {
    Found found;
    found.fenced.resize(entry.fences.size());
    const auto run = rows_.runs.find(entry.run.id);
    if (const auto gone = archived_.find(entry.run.id);
        run == rows_.runs.end() && entry.head_before == 0 && gone != archived_.end())
      found.tombstone = gone->second;
    if (run == rows_.runs.end()) return found;
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
    check_batch(shard, rows_.shards, batch);
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
    StoredRun& run = rows_.runs[entry.run.id];
    CHECK(run.row.head == entry.head_before && hashes.size() == entry.events.size());  // pairs with judge
    if (entry.head_before == 0) run.row = entry.run;
    for (const StepUse& use : uses_of(entry)) claims_.count_use(run, use);
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
    is_loose ? void(rows_.loose_ends.insert(entry.run.id)) : void(rows_.loose_ends.erase(entry.run.id));
    if (entry.drops_snapshots) run.snapshots.clear();
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

  bool has_home(const StoredRun& run, const std::string& queue) const {
    const auto home = run.home ? rows_.sessions.find(*run.home) : rows_.sessions.end();
    if (home == rows_.sessions.end()) return false;
    const std::vector<std::string>& queues = home->second.queues;
    return std::find(queues.begin(), queues.end(), queue) != queues.end();
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
    const auto found = rows_.runs.find(known.id);
    if (found == rows_.runs.end()) return {};
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

  MemoryRows rows_;
  MemoryRuns runs_{rows_};
  MemorySnapshots snapshots_{rows_};
  MemoryValues values_;
  MemoryJobs jobs_{rows_};
  MemoryProgress progress_{rows_};
  MemoryClaims claims_{rows_};
  MemorySessions sessions_{rows_};
  MemoryGraphs graphs_{rows_.clock};
  MemoryStarts starts_{rows_.clock};
  RunBook run_book_ = run_book_of(runs_);
  SnapshotBook snapshot_book_ = snapshot_book_of(snapshots_);
  ValueBook value_book_ = value_book_of(values_);
  JobBook job_book_ = job_book_of(jobs_);
  ProgressBook progress_book_ = progress_book_of(progress_);
  SessionBook session_book_ = session_book_of(sessions_);
  GraphBook graph_book_ = graph_book_of(graphs_);
  LimitBook limit_book_ = limit_book_of(claims_);
  StartBook start_book_ = start_book_of(starts_);
  std::condition_variable_any notified_;  // with the lock of the rows, as what follows
  std::uint64_t notifications_ = 0;
  std::map<std::thread::id, std::uint64_t> seen_;
  std::map<RunId, FoundTombstone> archived_;
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
