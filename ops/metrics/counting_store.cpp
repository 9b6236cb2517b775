#include "ops/metrics/counting_store.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "ops/metrics/counted_events.hpp"
#include "storage/clock.hpp"
#include "storage/forwarding_store.hpp"

namespace cairn {
namespace {

double seconds_since(TimeUs began_us) { return static_cast<double>(steady_us() - began_us) / 1e6; }

class CountingStore final : public ForwardingStore {
 public:
  CountingStore(std::unique_ptr<Store> store, std::shared_ptr<WorkCounts> counts)
      : ForwardingStore(*store),
        jobs_(store->jobs()),
        snapshots_(store->snapshots()),
        values_(store->values()),
        sessions_(store->sessions()),
        owned_(std::move(store)),
        counts_(std::move(counts)) {
    count_sessions();
    count_values();
    jobs_.release = [this](std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) {
      return counted(StoreCallKind::claim, [&] { return store_.jobs().release(holds, run_at_us); });
    };
    jobs_.release_unbegun = [this](std::span<const std::pair<RunId, Fence>> holds, TimeUs run_at_us) {
      return counted(StoreCallKind::claim, [&] { return store_.jobs().release_unbegun(holds, run_at_us); });
    };
  }

  std::vector<Verdict> commit(Shard shard, std::span<const Entry> batch, CommitOptions options) override {
    return counted(StoreCallKind::commit, [&] {
      const TimeUs began = steady_us();
      std::vector<Verdict> verdicts = store_.commit(shard, batch, options);
      count_commit(batch, verdicts, options, began);
      return verdicts;
    });
  }

  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    return counted(StoreCallKind::commit, [&] {
      const TimeUs began = steady_us();
      LockedDecision decision;
      LockedCommitted committed = store_.commit_locked(shard, runs, [&](std::vector<LockedRun> locked) {
        decision = decide(std::move(locked));
        return decision;
      });
      if (!decision.entries.empty()) count_commit(decision.entries, committed.verdicts, decision.options, began);
      count_claimed(committed.claimed, decision.claim ? decision.claim->now_us : 0);
      return committed;
    });
  }

  ClaimedBatch claim(const ClaimRequest& request) override {
    return counted(StoreCallKind::claim, [&] {
      const TimeUs began = steady_us();
      ClaimedBatch claimed = store_.claim(request);
      counts_->claim_seconds.add(seconds_since(began));
      count_claimed(claimed.jobs, request.now_us);
      return claimed;
    });
  }

  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    return counted(StoreCallKind::read, [&] {
      std::vector<StoredHistory> histories = store_.histories(requests, limit);
      counts_->histories_read.add(requests.size());
      return histories;
    });
  }
  std::optional<RunRow> run(const RunId& id) override {
    return counted(StoreCallKind::read, [&] { return store_.run(id); });
  }
  std::vector<RunRow> runs(const RunFilter& filter) override {
    return counted(StoreCallKind::read, [&] { return store_.runs(filter); });
  }
  std::vector<EventRow> events(const RunId& id, std::int64_t after_seq, std::int32_t limit) override {
    return counted(StoreCallKind::read, [&] { return store_.events(id, after_seq, limit); });
  }

  JobBook& jobs() override { return jobs_; }
  SnapshotBook& snapshots() override { return snapshots_; }
  ValueBook& values() override { return values_; }
  SessionBook& sessions() override { return sessions_; }

  TimeUs database_time() override {
    return counted(StoreCallKind::other, [&] { return store_.database_time(); });
  }
  bool await_notification(std::int64_t timeout_ms, NotifiedBy by) override {
    return counted(StoreCallKind::other, [&] {
      const bool is_notified = store_.await_notification(timeout_ms, by);
      if (is_notified) counts_->wake_ups.add();
      return is_notified;
    });
  }

 private:
  void count_sessions() {
    sessions_.open = [this](const SessionRow& session) {
      counted(StoreCallKind::session, [&] { store_.sessions().open(session); });
    };
    sessions_.beat = [this](SessionId session) {
      counted(StoreCallKind::session, [&] { store_.sessions().beat(session); });
    };
    sessions_.scan_held = [this](SessionId session, TimeUs now_us, std::int32_t limit) {
      return counted(StoreCallKind::session, [&] { return store_.sessions().scan_held(session, now_us, limit); });
    };
  }

  void count_values() {
    snapshots_.newest = [this](const RunId& run, std::int32_t fold_version, std::int64_t at_most) {
      return counted(StoreCallKind::read, [&] { return store_.snapshots().newest(run, fold_version, at_most); });
    };
    snapshots_.put = [this](const RunId& run, const SnapshotRow& snapshot) {
      counted(StoreCallKind::other, [&] { store_.snapshots().put(run, snapshot); });
    };
    values_.get = [this](Shard shard, const Hash& hash) {
      return counted(StoreCallKind::read, [&] { return store_.values().get(shard, hash); });
    };
    values_.put = [this](Shard shard, const Hash& hash, std::string_view bytes) {
      counted(StoreCallKind::other, [&] { store_.values().put(shard, hash, bytes); });
    };
  }

  template <class Call>
  std::invoke_result_t<Call> counted(StoreCallKind kind, Call call) {
    try {
      return call();
    } catch (...) {
      counts_->faults[static_cast<std::size_t>(kind)].add();
      throw;
    }
  }

  void count_commit(std::span<const Entry> entries, std::span<const Verdict> verdicts, const CommitOptions& options,
                    TimeUs began_us) {
    counts_->commit_seconds.add(seconds_since(began_us));
    counts_->commit_entries.add(static_cast<double>(entries.size()));
    if (options.notify) counts_->wake_ups_sent.add();
    for (std::size_t n = 0; n < std::min(entries.size(), verdicts.size()); ++n) {
      counts_->entries[static_cast<std::size_t>(verdicts[n].kind)].add();
      if (verdicts[n].kind == Verdict::Kind::committed) count_events(*counts_, entries[n]);
    }
  }

  void count_claimed(std::span<const HeldJob> jobs, TimeUs now_us) {
    counts_->jobs_claimed.add(jobs.size());
    for (const HeldJob& held : jobs)
      counts_->waits.of({held.job.queue})
          .add(static_cast<double>(std::max<TimeUs>(now_us - held.job.run_at_us, 0)) / 1e6);
  }

  JobBook jobs_;
  SnapshotBook snapshots_;
  ValueBook values_;
  SessionBook sessions_;
  const std::unique_ptr<Store> owned_;
  const std::shared_ptr<WorkCounts> counts_;
};

}  // namespace

std::unique_ptr<Store> make_counting_store(std::unique_ptr<Store> store, std::shared_ptr<WorkCounts> counts) {
  return std::make_unique<CountingStore>(std::move(store), std::move(counts));
}

}  // namespace cairn
