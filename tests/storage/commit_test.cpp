// The contract of Store's commits: heads, fences, links, doubt; and the log as it is read back.
#include <atomic>
#include <thread>

#include "tests/storage/set_limits.hpp"
#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

class CommitTest : public StoreTest {};

TEST_P(CommitTest, a_run_is_read_back_as_it_was_written) {
  TestRun parent = started_run();
  TestRun run = new_run();
  run.row.tags = {{"batch", "a \"b\""}, {"owner", "Zoë"}};
  run.row.parent = parent.id();
  run.row.continues = parent.id();
  run.row.reason = "because";
  run.row.waiting = true;
  const Entry entry = run.entry(3);
  const Verdict verdict = run.commit(entry);
  EXPECT_EQ(verdict.kind, Kind::committed);
  EXPECT_EQ(verdict.head, 3);

  const auto row = store().run(run.id());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->graph, "test_graph");
  EXPECT_EQ(row->version, run.row.version);
  EXPECT_EQ(row->status, RunStatus::running);
  EXPECT_TRUE(row->waiting);
  EXPECT_EQ(row->head, 3);
  EXPECT_EQ(row->chain_hash, verdict.chain_hash);
  EXPECT_EQ(row->parent, parent.id());
  EXPECT_EQ(row->continues, parent.id());
  EXPECT_EQ(row->started_at, noon);
  EXPECT_EQ(row->reason, "because");
  EXPECT_EQ(row->tags, run.row.tags);

  const std::vector<EventRow> events = store().events(run.id(), 0, 10);
  ASSERT_EQ(events.size(), 3u);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(events[at].seq, entry.events[at].seq);
    EXPECT_EQ(events[at].at_us, entry.events[at].at_us);
    EXPECT_EQ(events[at].type, entry.events[at].type);
    EXPECT_EQ(events[at].version, entry.events[at].version);
    EXPECT_EQ(events[at].step, entry.events[at].step);
    EXPECT_EQ(events[at].actor, entry.events[at].actor);
    EXPECT_EQ(events[at].payload, entry.events[at].payload);
    EXPECT_GT(events[at].commit, 0);
  }
  EXPECT_EQ(chain_fault(store(), run.id()), "");
}

TEST_P(CommitTest, events_are_paged) {
  TestRun run = new_run();
  run.commit(run.entry(5));
  EXPECT_EQ(store().events(run.id(), 0, 2).size(), 2u);
  const std::vector<EventRow> rest = store().events(run.id(), 3, 10);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].seq, 4);
  EXPECT_TRUE(store().events(run.id(), 5, 10).empty());
  EXPECT_TRUE(store().events(run_on(0, store().shards()), 0, 10).empty());
}

TEST_P(CommitTest, an_unknown_run_is_none) { EXPECT_FALSE(store().run(run_on(last_shard(), store().shards()))); }

TEST_P(CommitTest, a_later_commit_moves_the_head_and_the_row) {
  TestRun run = started_run();
  Entry entry = run.entry(2);
  entry.run.status = RunStatus::failed;
  entry.run.version = std::string(64, 'b');
  entry.run.reason = "broken";
  entry.run.updated_at = noon + 5;
  const Verdict verdict = run.commit(entry);
  EXPECT_EQ(verdict.kind, Kind::committed);
  EXPECT_EQ(verdict.head, 3);
  const auto row = store().run(run.id());
  EXPECT_EQ(row->head, 3);
  EXPECT_EQ(row->status, RunStatus::failed);
  EXPECT_EQ(row->version, std::string(64, 'b'));
  EXPECT_EQ(row->reason, "broken");
  EXPECT_EQ(row->updated_at, noon + 5);
}

TEST_P(CommitTest, an_empty_batch_has_no_verdicts) { EXPECT_TRUE(commit({}).empty()); }

TEST_P(CommitTest, a_run_that_exists_cannot_be_started_again) {
  TestRun run = new_run();
  const Entry first = run.entry(2);
  run.commit(first);
  const Verdict verdict = commit({first}).at(0);
  EXPECT_EQ(verdict.kind, Kind::conflict);
  EXPECT_EQ(verdict.head, 2);
  EXPECT_EQ(verdict.chain_hash, run.chain_hash);
  EXPECT_EQ(store().events(run.id(), 0, 10).size(), 2u);
}

TEST_P(CommitTest, a_commit_at_an_old_head_is_a_conflict) {
  TestRun run = started_run();
  TestRun late = run;
  run.commit(run.entry(3));
  const Verdict verdict = late.commit(late.entry());
  EXPECT_EQ(verdict.kind, Kind::conflict);
  EXPECT_EQ(verdict.head, 4);
  EXPECT_EQ(verdict.chain_hash, run.chain_hash);
}

// --- decided under locks: A7 ----------------------------------------------------------------------------------------

TEST_P(CommitTest, A7_a_locked_run_brings_along_what_was_missed_and_its_entry_is_no_conflict) {
  TestRun run = started_run();
  TestRun late = run;
  run.commit(run.entry(3));
  TestRun other = started_run();
  std::vector<Entry> entries;
  const auto decide = [&](std::vector<LockedRun> locked) {
    EXPECT_EQ(locked.size(), 3u);
    EXPECT_EQ(locked.at(0).head, 1) << "nothing is missed";
    EXPECT_TRUE(locked[0].missed.empty());
    EXPECT_EQ(locked[1].head, 0) << "there is no such run";
    EXPECT_EQ(locked[2].head, 4);
    EXPECT_EQ(locked[2].missed.size(), 3u);
    EXPECT_EQ(locked[2].missed.front().seq, 2);
    EXPECT_EQ(locked[2].missed.back().chain_hash, run.chain_hash);
    EXPECT_EQ(locked[2].chain_hash, run.chain_hash);
    late.head = locked[2].head;
    late.chain_hash = locked[2].chain_hash;
    entries = {late.entry(2), other.entry()};
    return LockedDecision{entries, {}};
  };
  const std::vector<KnownRun> known = {{other.id(), 1}, {run_on(last_shard(), store().shards()), 7}, {run.id(), 1}};
  const std::vector<Verdict> verdicts = store().commit_locked(last_shard(), known, decide).verdicts;
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].kind, Kind::committed);
  EXPECT_EQ(verdicts[0].head, 6);
  EXPECT_EQ(verdicts[1].kind, Kind::committed);
  EXPECT_EQ(chain_fault(store(), run.id()), "");
}

TEST_P(CommitTest, A7_of_very_many_missed_events_only_the_first_come_along) {
  TestRun run = started_run();
  run.commit(run.entry(1'001));
  std::vector<LockedRun> found;
  const auto decide = [&](std::vector<LockedRun> locked) {
    found = std::move(locked);
    return LockedDecision{};
  };
  const std::vector<KnownRun> known = {{run.id(), 1}};
  EXPECT_TRUE(store().commit_locked(last_shard(), known, decide).verdicts.empty());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].head, 1'002);
  EXPECT_EQ(found[0].missed.size(), 1'000u);
  EXPECT_EQ(run.commit(run.entry()).kind, Kind::committed) << "its lock is gone";
}

// Up to 1,000 events of each of 500 runs came along, however large.
TEST_P(CommitTest, A9_what_was_missed_is_bounded_in_bytes_that_the_runs_of_a_lock_share) {
  TestRun run = started_run();
  TestRun other = started_run();
  Entry large = run.entry(3);
  for (EventRow& event : large.events) event.payload = R"({"text":")" + std::string(7u << 20, 'x') + "\"}";
  ASSERT_EQ(run.commit(large).kind, Kind::committed);
  std::vector<LockedRun> found;
  const auto decide = [&](std::vector<LockedRun> locked) {
    found = std::move(locked);
    return LockedDecision{};
  };
  const std::vector<KnownRun> known = {{run.id(), 1}, {other.id(), 0}};
  (void)store().commit_locked(last_shard(), known, decide);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].head, 4);
  EXPECT_EQ(found[0].missed.size(), 2u);
  EXPECT_EQ(found[1].missed.size(), 1u);
  (void)store().commit_locked(last_shard(), {known.data(), 1}, decide);
  EXPECT_EQ(found.at(0).missed.size(), 3u) << "alone";
}

TEST_P(CommitTest, A7_a_fence_that_does_not_hold_is_stale_under_the_lock_as_well) {
  TestRun run = started_run();
  const Fence good = fence_of(claim_one(7));
  Fence bad = good;
  ++bad.epoch;
  for (const Fence& fence : {bad, good}) {
    Entry entry = run.entry();
    entry.fences = {fence};
    entry.jobs = {keep(job_of(1, 2))};
    const auto decide = [&](const std::vector<LockedRun>&) { return LockedDecision{{&entry, 1}, {}}; };
    const std::vector<KnownRun> known = {{run.id(), run.head}};
    const Verdict verdict = store().commit_locked(last_shard(), known, decide).verdicts.at(0);
    EXPECT_EQ(verdict.kind, fence.epoch == good.epoch ? Kind::committed : Kind::stale);
    EXPECT_EQ(verdict.stale.size(), fence.epoch == good.epoch ? 0u : 1u);
  }
  EXPECT_EQ(store().run(run.id())->head, 2);
}

// The worker's next job of a wide run costs no transaction of its own.
TEST_P(CommitTest, A7_a_locked_commit_claims_other_jobs_of_its_runs_and_of_no_limited_queue) {
  TestRun other = started_run();
  TestRun run = new_run();
  Entry start = run.entry();
  for (BranchId branch = 1; branch <= 4; ++branch) start.jobs.push_back(offer(job_of(branch, branch)));
  start.jobs.push_back(offer(job_of(5, 5, noon, "limited")));
  start.jobs.push_back(offer(job_of(6, 6, noon + 60'000'000)));
  run.commit(start);
  ASSERT_TRUE(set_limits(store(), {.name = "limited", .concurrency = 5}));
  ClaimRequest request = claim_request(7, 1, last_shard());
  request.only_runs = {run.id()};
  const HeldJob held = store().claim(request).jobs.at(0);
  request.queues = {"default", "limited"};
  request.limit = 3;
  std::vector<Fence> fences = {fence_of(held), fence_of(held)};
  ++fences[0].epoch;  // the first does not hold
  for (const Fence& fence : fences) {
    Entry entry = run.entry();
    entry.fences = {fence};
    entry.jobs = {drop(held.job.branch)};
    const auto decide = [&](const std::vector<LockedRun>&) { return LockedDecision{{&entry, 1}, {}, request}; };
    const std::vector<KnownRun> known = {{run.id(), run.head}};
    const LockedCommitted committed = store().commit_locked(last_shard(), known, decide);
    if (fence.epoch != held.epoch) {
      EXPECT_EQ(committed.verdicts.at(0).kind, Kind::stale);
      EXPECT_TRUE(committed.claimed.empty());
      continue;
    }
    EXPECT_EQ(committed.verdicts.at(0).kind, Kind::committed);
    ASSERT_EQ(committed.claimed.size(), 3u) << "as many as are due in a queue without a limit";
    for (const HeldJob& job : committed.claimed) {
      EXPECT_EQ(job.run, run.id());
      EXPECT_EQ(job.session, 7);
      EXPECT_EQ(job.epoch, this->job(run, job.job.branch).epoch);
      EXPECT_EQ(this->job(run, job.job.branch).session, 7);
      EXPECT_EQ(job.job.queue, "default");
    }
  }
  EXPECT_EQ(claim_one(8).run, other.id());
}

// A writer that fails while it decides leaves no lock behind.
TEST_P(CommitTest, A7_a_decision_that_is_not_made_writes_nothing) {
  TestRun run = started_run();
  const auto decide = [](const std::vector<LockedRun>&) -> LockedDecision { throw StoreUnavailable("gone"); };
  const std::vector<KnownRun> known = {{run.id(), 1}};
  EXPECT_THROW((void)store().commit_locked(last_shard(), known, decide), StoreUnavailable);
  EXPECT_EQ(run.commit(run.entry()).kind, Kind::committed);
}

// Each of them knows only the beginning of the run: no turn is lost to another one.
TEST_P(CommitTest, A7_writers_of_one_run_take_turns_and_none_of_them_is_refused) {
  constexpr int writers = 4;
  constexpr int turns = 10;
  const TestRun run = started_run();
  std::atomic<int> committed = 0;
  std::vector<std::thread> threads;
  for (int n = 0; n < writers; ++n) {
    threads.emplace_back([&, own = run]() mutable {
      for (int turn = 0; turn < turns; ++turn) {
        Entry entry;
        const auto decide = [&](const std::vector<LockedRun>& locked) {
          own.head = locked.at(0).head;
          own.chain_hash = locked[0].chain_hash;
          entry = own.entry();
          return LockedDecision{{&entry, 1}, {}};
        };
        const std::vector<KnownRun> known = {{own.id(), own.head}};
        committed += store().commit_locked(last_shard(), known, decide).verdicts.at(0).kind == Kind::committed ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(committed, writers * turns);
  EXPECT_EQ(store().run(run.id())->head, 1 + writers * turns);
  EXPECT_EQ(chain_fault(store(), run.id()), "");
}

TEST_P(CommitTest, a_commit_to_a_run_that_does_not_exist_is_a_conflict_at_head_0) {
  TestRun run = new_run();
  run.head = 3;
  Entry entry = run.entry();
  entry.fences.push_back({1, 7, 1, 1});
  const Verdict verdict = commit({entry}).at(0);
  EXPECT_EQ(verdict.kind, Kind::conflict);
  EXPECT_EQ(verdict.head, 0);
  EXPECT_FALSE(store().run(run.id()));
}

TEST_P(CommitTest, another_chain_at_the_same_head_is_a_conflict) {
  TestRun run = started_run();
  Entry entry = run.entry();
  entry.chain_before[0] ^= 1;
  const Verdict verdict = commit({entry}).at(0);
  EXPECT_EQ(verdict.kind, Kind::conflict);
  EXPECT_EQ(verdict.head, 1);
  EXPECT_EQ(verdict.chain_hash, run.chain_hash);
}

TEST_P(CommitTest, a_fence_that_holds_passes) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry entry = run.entry();
  entry.fences.push_back(fence_of(held));
  entry.jobs.push_back(keep(job_of(1, 2)));
  EXPECT_EQ(run.commit(entry).kind, Kind::committed);
}

TEST_P(CommitTest, a_fence_of_another_session_epoch_or_step_is_stale) {
  TestRun run = started_run();
  const Fence good = fence_of(claim_one(7));
  std::vector<Fence> bad(3, good);
  ++bad[0].session;
  --bad[1].epoch;
  ++bad[2].step;
  for (const Fence& fence : bad) {
    Entry entry = run.entry();
    entry.fences.push_back(fence);
    const Verdict verdict = run.commit(entry);
    EXPECT_EQ(verdict.kind, Kind::stale);
    EXPECT_EQ(verdict.stale, std::vector<BranchId>{1});
    EXPECT_EQ(verdict.head, 1);
  }
  EXPECT_EQ(store().run(run.id())->head, 1);
}

// The fence is checked by the statement that writes.
TEST_P(CommitTest, what_is_kept_or_dropped_on_a_wrong_fence_is_stale_and_stays_as_it_was) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  const Fence good = fence_of(held);
  for (Fence wrong : {Fence{1, 8, good.epoch, good.step}, Fence{1, 7, good.epoch + 1, good.step},
                      Fence{1, 7, good.epoch, good.step + 1}}) {
    for (const JobWrite& write : {keep(job_of(1, 2)), drop(1)}) {
      Entry entry = run.entry();
      entry.fences = {wrong};
      entry.jobs = {write};
      EXPECT_EQ(run.commit(entry).kind, Kind::stale);
      ASSERT_EQ(store().jobs().of(run.id()).size(), 1u);
      EXPECT_EQ(store().jobs().of(run.id())[0].job.step, held.job.step);
      EXPECT_EQ(store().run(run.id())->head, 1);
    }
  }
}

TEST_P(CommitTest, stale_names_only_the_branches_whose_fence_failed) {
  TestRun run = new_run();
  Entry first = run.entry();
  first.jobs = {offer(job_of(1, 1)), offer(job_of(2, 2)), offer(job_of(3, 3))};
  run.commit(first);
  Entry entry = run.entry();
  for (const HeldJob& held : claim(7)) entry.fences.push_back(fence_of(held));
  ASSERT_EQ(entry.fences.size(), 3u);
  entry.fences[1].epoch += 1;
  EXPECT_EQ(run.commit(entry).stale, std::vector<BranchId>{2});
}

TEST_P(CommitTest, a_fence_on_a_missing_job_is_stale_while_the_run_is_open_and_closed_after_it) {
  TestRun run = started_run();
  const Fence fence = fence_of(claim_one(7));
  Entry dropping = run.entry();
  dropping.jobs.push_back(drop(1));
  run.commit(dropping);
  Entry entry = run.entry();
  entry.fences.push_back(fence);
  EXPECT_EQ(run.commit(entry).kind, Kind::stale);

  Entry ending = run.entry();
  ending.run.status = RunStatus::aborted;
  run.commit(ending);
  Entry late = run.entry();
  late.fences.push_back(fence);
  const Verdict verdict = run.commit(late);
  EXPECT_EQ(verdict.kind, Kind::closed);
  EXPECT_EQ(verdict.stale, std::vector<BranchId>{1});
}

TEST_P(CommitTest, a_job_held_by_another_is_stale_even_if_the_run_has_ended) {
  TestRun run = started_run();
  Fence fence = fence_of(claim_one(7));
  Entry ending = run.entry();
  ending.run.status = RunStatus::done;
  run.commit(ending);
  ++fence.epoch;
  Entry late = run.entry();
  late.fences.push_back(fence);
  EXPECT_EQ(run.commit(late).kind, Kind::stale);
}

TEST_P(CommitTest, a_lost_hold_counts_more_than_an_old_head) {
  TestRun run = started_run();
  TestRun late = run;
  Fence fence = fence_of(claim_one(7));
  run.commit(run.entry());
  Entry entry = late.entry();
  ++fence.epoch;
  entry.fences.push_back(fence);
  EXPECT_EQ(late.commit(entry).kind, Kind::stale);
}

// The Postgres store read no job of a run that was to be new, and called every fence stale.
TEST_P(CommitTest, fences_are_judged_even_if_the_run_should_have_been_new) {
  TestRun run = started_run();
  const HeldJob held = claim_one(7);
  Entry entry = run.entry();
  entry.head_before = 0;
  entry.events[0].seq = 1;
  entry.fences.push_back(fence_of(held));
  EXPECT_EQ(commit({entry}).at(0).kind, Kind::conflict);
  ++entry.fences[0].epoch;
  EXPECT_EQ(commit({entry}).at(0).kind, Kind::stale);
}

TEST_P(CommitTest, one_refused_entry_does_not_disturb_its_batch) {
  TestRun good = started_run();
  TestRun conflicting = started_run();
  TestRun stale = started_run();
  TestRun fresh = new_run();
  TestRun existing = started_run();
  conflicting.commit(conflicting.entry());
  std::vector<Entry> batch{good.entry(), conflicting.entry(), stale.entry(), fresh.entry(2), existing.entry()};
  batch[1].head_before = 1;
  batch[1].events[0].seq = 2;
  batch[2].fences.push_back({1, 7, 1, 1});
  batch[4].head_before = 0;
  batch[4].events[0].seq = 1;
  const std::vector<Verdict> verdicts = commit(batch);
  EXPECT_EQ(verdicts[0].kind, Kind::committed);
  EXPECT_EQ(verdicts[1].kind, Kind::conflict);
  EXPECT_EQ(verdicts[2].kind, Kind::stale);
  EXPECT_EQ(verdicts[3].kind, Kind::committed);
  EXPECT_EQ(verdicts[4].kind, Kind::conflict);
  EXPECT_EQ(store().run(good.id())->head, 2);
  EXPECT_EQ(store().run(conflicting.id())->head, 2);
  EXPECT_EQ(store().run(stale.id())->head, 1);
  EXPECT_EQ(store().run(fresh.id())->head, 2);
  for (const TestRun* run : {&good, &conflicting, &stale, &fresh, &existing}) {
    EXPECT_EQ(chain_fault(store(), run->id()), "");
  }
}

TEST_P(CommitTest, linked_entries_share_a_verdict) {
  TestRun refused = started_run();
  TestRun linked = started_run();
  TestRun child = new_run();
  TestRun other = started_run();
  std::vector<Entry> batch{refused.entry(), linked.entry(), child.entry(), other.entry()};
  batch[0].chain_before[0] ^= 1;
  batch[0].link = batch[1].link = batch[2].link = 5;
  batch[2].jobs.push_back(offer(job_of(1, 1)));
  batch[3].link = 6;
  const std::vector<Verdict> verdicts = commit(batch);
  EXPECT_EQ(verdicts[0].kind, Kind::conflict);
  EXPECT_EQ(verdicts[1].kind, Kind::conflict);
  EXPECT_EQ(verdicts[1].head, 1);
  EXPECT_EQ(verdicts[1].chain_hash, linked.chain_hash);
  EXPECT_EQ(verdicts[2].kind, Kind::conflict);
  EXPECT_EQ(verdicts[2].head, 0);
  EXPECT_EQ(verdicts[3].kind, Kind::committed);
  EXPECT_EQ(store().run(linked.id())->head, 1);
  EXPECT_FALSE(store().run(child.id())) << "a refused child must leave nothing behind";
  EXPECT_TRUE(store().jobs().of(child.id()).empty());

  batch[0].chain_before[0] ^= 1;
  batch.pop_back();
  for (const Verdict& verdict : commit(batch)) EXPECT_EQ(verdict.kind, Kind::committed);
  EXPECT_TRUE(store().run(child.id()));
}

TEST_P(CommitTest, a_batch_in_doubt_that_landed_is_committed_again_and_written_once) {
  TestRun run = started_run();
  TestRun fresh = new_run();
  const HeldJob held = claim_one(7);
  std::vector<Entry> batch{run.entry(2), fresh.entry()};
  batch[0].fences.push_back(fence_of(held));
  batch[0].jobs.push_back(offer(job_of(1, 2)));
  for (Entry& entry : batch) entry.commit = 77;
  const std::vector<Verdict> first = commit(batch);
  ASSERT_EQ(first[0].kind, Kind::committed);
  for (Entry& entry : batch) entry.in_doubt = true;
  const std::vector<Verdict> again = commit(batch);
  for (const std::size_t at : {0u, 1u}) {
    EXPECT_EQ(again[at].kind, Kind::committed);
    EXPECT_EQ(again[at].head, first[at].head);
    EXPECT_EQ(again[at].chain_hash, first[at].chain_hash);
  }
  EXPECT_EQ(store().run(run.id())->head, 3);
  EXPECT_EQ(store().events(run.id(), 0, 10).back().commit, 77);
  EXPECT_EQ(chain_fault(store(), run.id()), "");
  EXPECT_EQ(job(run, 1).session, 0) << "the job it offered was touched again";
}

TEST_P(CommitTest, a_batch_in_doubt_that_did_not_land_is_written) {
  TestRun run = started_run();
  Entry entry = run.entry();
  entry.commit = 78;
  entry.in_doubt = true;
  EXPECT_EQ(run.commit(entry).kind, Kind::committed);
  EXPECT_EQ(store().run(run.id())->head, 2);
  Entry other = entry;  // the same place in the log, but of another batch
  other.commit = 79;
  EXPECT_EQ(run.commit(other).kind, Kind::conflict);
}

// A run under an id that the same key gives again.
TestRun keyed_run(Store& store, Shard shard) {
  TestRun run(store, shard);
  run.row.id.bytes[6] = 0x80;
  return run;
}

TEST_P(CommitTest, A4_a_key_whose_run_was_archived_is_refused_and_names_the_archive) {
  TestRun run = keyed_run(store(), last_shard());
  TestRun again = run;
  run.row.status = RunStatus::done;
  run.commit(run.entry(2));
  archive(run, "/archives/2026.jsonl");
  EXPECT_FALSE(store().run(run.id()));
  Entry child = new_run().entry();
  Entry entry = again.entry();
  entry.link = child.link = 3;
  const std::vector<Verdict> verdicts = commit({new_run().entry(), entry, child});
  EXPECT_EQ(verdicts[0].kind, Kind::committed) << "nobody else is disturbed";
  EXPECT_EQ(verdicts[1].kind, Kind::archived);
  EXPECT_EQ(verdicts[2].kind, Kind::conflict) << "it is linked";
  for (const std::string& part : {to_string(run.id()), std::string("/archives/2026.jsonl"), std::string("2023-11-14")})
    EXPECT_NE(verdicts[1].fault.find(part), std::string::npos) << verdicts[1].fault;
  EXPECT_FALSE(store().run(run.id()));
  EXPECT_FALSE(store().run(child.run.id));
  EXPECT_EQ(again.commit(again.entry()).kind, Kind::archived) << "alone";
  TestRun other = keyed_run(store(), last_shard());
  EXPECT_EQ(other.commit(other.entry()).kind, Kind::committed);
}

INSTANTIATE_TEST_SUITE_P(Stores, CommitTest, ::testing::ValuesIn(every_store_and_pooled()), name_of_store);

}  // namespace
}  // namespace cairn
