// The one way into a history: conflicts, fences, linked runs, an unavailable store; driven without threads.
#include "workers/runs/committer.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "engine/graph_parsing.hpp"
#include "engine/snapshot.hpp"
#include "storage/commit_rules.hpp"
#include "storage/memory_store.hpp"
#include "tests/storage/forwarding_store.hpp"
#include "tests/workers/runs/taken_over.hpp"
#include "tests/workers/session/times.hpp"
#include "tests/workers/small_graphs.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/ids.hpp"
#include "workers/runs/history.hpp"

namespace cairn {
namespace {

using namespace test;

// A committer with a store, whose actions are carried out one by one in an order the test chooses.
class Driven {
 public:
  using Change = std::function<void(CommitterOptions&)>;
  Driven(Store& store, SessionId session, std::int64_t snapshot_events = 2'000, const Change& change = {})
      : store_(store), committer_(options(store, session, snapshot_events, change)) {
    for (const GraphRow& row : store.graphs())
      committer_.add_graph(stored_graph(parse_stored(row.text), row.version), row.current);
    committer_.tick(noon);
    committer_.set_queues({"default", "echo"}, {});
  }

  Committer& operator*() { return committer_; }
  Committer* operator->() { return &committer_; }

  Ticket submit(const RunId& run, Command command, std::optional<Fence> fence = {}, bool may_keep = false) {
    Submission submission{.ticket = ++last_, .run = run, .command = std::move(command), .fence = fence};
    if (may_keep) submission.keep_in = "default";
    committer_.submit(std::move(submission));
    return last_;
  }

  // Takes new actions; true if something is left to be carried out.
  bool collect() {
    committer_.set_capacity({.is_accepting = keeps, .free_slots = 1'000});
    CommitterActions actions = committer_.drain_actions();
    for (Load& load : actions.loads) loads_.push_back(load);
    for (CommitBatch& batch : actions.commits) commits_.push_back(batch);
    for (LockedCommit& commit : actions.locked_commits) locked_commits_.push_back(std::move(commit));
    for (PutSnapshot& snapshot : actions.snapshots) store_.put_snapshot(snapshot.run, snapshot.row);
    snapshots += static_cast<int>(actions.snapshots.size());
    for (HeldJob& job : actions.created_held) created_held.push_back(std::move(job));
    gone_back.insert(gone_back.end(), actions.gone_back.begin(), actions.gone_back.end());
    for (Reply& reply : actions.replies) {
      EXPECT_FALSE(replies.contains(reply.ticket)) << "answered twice";
      replies.emplace(reply.ticket, std::move(reply));
    }
    return !loads_.empty() || !commits_.empty() || !locked_commits_.empty();
  }

  // The store locks the runs of the oldest locked commit, and writes what is decided.
  void commit_locked() {
    const LockedCommit commit = locked_commits_.front();
    locked_commits_.erase(locked_commits_.begin());
    LockedCommitted committed = store_.commit_locked(commit.shard, commit.runs, [&](std::vector<LockedRun> runs) {
      for (const LockedRun& run : runs) missed += std::ssize(run.missed);
      return committer_.decide_locked(commit.batch, std::move(runs));
    });
    std::move(committed.claimed.begin(), committed.claimed.end(), std::back_inserter(refilled));
    committer_.verdicts(commit.batch, std::move(committed.verdicts));
  }

  void step(std::mt19937& random) {
    const bool has_others = !loads_.empty() || !commits_.empty();
    if (!locked_commits_.empty() && (!has_others || random() % 2 == 0)) return commit_locked();
    const bool is_load = commits_.empty() || (!loads_.empty() && random() % 2 == 0);
    if (is_load) {
      const Load load = take(loads_, random);
      committer_.history(std::move(read_histories(store_, {&load, 1}).front()));
    } else {
      const CommitBatch batch = take(commits_, random);
      committer_.verdicts(batch.batch, store_.commit(batch.shard, *batch.entries, {}));
    }
  }

  void settle() {
    std::mt19937 random(1);
    while (collect()) step(random);
    EXPECT_TRUE(committer_.idle());
  }

  const Reply& reply(Ticket ticket) {
    EXPECT_TRUE(replies.contains(ticket));
    return replies[ticket];
  }

  std::vector<CommitBatch>& commits() { return commits_; }
  std::vector<LockedCommit>& locked_commits() { return locked_commits_; }
  std::vector<Load>& loads() { return loads_; }

  std::map<Ticket, Reply> replies;
  std::vector<HeldJob> created_held;
  std::vector<GoneBack> gone_back;
  int snapshots = 0;
  std::ptrdiff_t missed = 0;      // events that locks brought along
  std::vector<HeldJob> refilled;  // jobs that locked commits took along
  bool keeps = true;

 private:
  CommitterOptions options(Store& store, SessionId session, std::int64_t snapshot_events, const Change& change) {
    CommitterOptions of;
    of.snapshot_events = snapshot_events;
    of.shards = store.shards();
    of.actor = "user:test";
    of.tools = &tools_;
    of.session = session;
    of.new_id = new_run_id;
    of.draw = [] { return 0.5; };
    of.new_commit = next_commit_id;
    if (change) change(of);
    return of;
  }
  template <class T>
  T take(std::vector<T>& from, std::mt19937& random) {
    const auto at = from.begin() + static_cast<std::ptrdiff_t>(random() % from.size());
    T taken = std::move(*at);
    from.erase(at);
    return taken;
  }

  const ToolTable tools_{{"echo", ToolFacts{}}};
  Store& store_;
  Committer committer_;
  Ticket last_ = 0;
  std::vector<Load> loads_;
  std::vector<CommitBatch> commits_;
  std::vector<LockedCommit> locked_commits_;
};

// A store in which one run is of a newer release, until it is readable.
class NewerRelease final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<StoredHistory> histories(std::span<const HistoryRequest> requests, std::int32_t limit) override {
    std::vector<StoredHistory> found = ForwardingStore::histories(requests, limit);
    for (std::size_t at = 0; at < requests.size(); ++at)
      if (requests[at].run == newer)
        for (EventRow& row : found[at].events) row.version = 9;
    return found;
  }
  RunId newer;
};

std::size_t bytes_of(const Entry& entry) {
  std::size_t bytes = 0;
  for (const EventRow& row : entry.events) bytes += row.payload.size();
  return bytes;
}

class CommitterTest : public ::testing::Test {
 protected:
  CommitterTest() : store_(make_memory_store(1, [this] { return now_; })), catalogue_(small_catalogue()) {
    client_ = client_with_graphs(*store_, *catalogue_);
  }
  RunId start(const std::string& graph, Json input = Json::object()) {
    StartRun command;
    command.graph = graph;
    command.input = std::move(input);
    return client_->start(std::move(command), "")->run;
  }
  HeldJob claim(SessionId session) { return claim(*store_, session); }
  static HeldJob claim(Store& store, SessionId session) {
    ClaimRequest request;
    request.queues = {"default", std::string(timer_queue)};
    request.session = session;
    request.now_us = noon + 1'000'000'000;
    std::vector<HeldJob> jobs = store.claim(request).jobs;
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? HeldJob{} : jobs[0];
  }
  static Fence fence(const HeldJob& job) { return {job.job.branch, job.session, job.epoch, job.job.step}; }
  static CompleteStep complete(const HeldJob& job, Json patch = Json::object()) {
    return {job.job.step, job.job.attempt, {"ok", std::move(patch), {}}, job.session, noon, 0};
  }
  RunStatus status(const RunId& run) { return store_->run(run)->status; }

  TimeUs now_ = noon;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<Client> client_;
};

TEST_F(CommitterTest, a_kept_branch_goes_on_with_the_same_epoch) {
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  HeldJob job = claim(5);
  for (int step = 1; step <= 2; ++step) {
    const Ticket ticket = driven.submit(run, complete(job), fence(job), true);
    driven.settle();
    ASSERT_TRUE(driven.reply(ticket).status);
    ASSERT_TRUE(driven.reply(ticket).next);
    EXPECT_EQ(driven.reply(ticket).next->epoch, job.epoch);
    job = *driven.reply(ticket).next;
    EXPECT_EQ(store_->jobs(run)[0].session, 5);
    EXPECT_EQ(store_->jobs(run)[0].job.step, job.job.step);
  }
}

TEST_F(CommitterTest, a_step_that_may_not_stay_is_offered_with_a_new_epoch) {
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  const Ticket ticket = driven.submit(run, complete(job), fence(job), false);
  driven.settle();
  EXPECT_FALSE(driven.reply(ticket).next);
  EXPECT_EQ(store_->jobs(run)[0].session, 0);
  EXPECT_GT(store_->jobs(run)[0].epoch, job.epoch);
}

// A row that stays keeps its queue: released later, it would be claimed for a step that it no longer stands for.
TEST_F(CommitterTest, a_step_in_another_queue_than_its_branchs_row_does_not_stay) {
  const RunId run = start("wait");
  Driven driven(*store_, 5);
  driven->tick(noon + 100'000);
  const HeldJob timer = claim(5);
  driven->submit({1, run, Due{timer.job.step}, fence(timer), timer.job.queue});
  driven.settle();
  EXPECT_FALSE(driven.reply(1).next);
  EXPECT_EQ(store_->jobs(run)[0].job.queue, "default");
  EXPECT_EQ(store_->jobs(run)[0].session, 0);
}

TEST_F(CommitterTest, branches_of_a_fan_out_are_born_held_and_so_is_their_join) {
  const RunId run = start("fan");
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  std::vector<HeldJob> branches = std::exchange(driven.created_held, {});
  ASSERT_EQ(branches.size(), 3u);
  while (!branches.empty()) {
    const HeldJob next = branches.front();
    branches.erase(branches.begin());
    const Ticket ticket = driven.submit(run, complete(next), fence(next), true);
    driven.settle();
    ASSERT_TRUE(driven.reply(ticket).status);
    if (driven.reply(ticket).next) branches.push_back(*driven.reply(ticket).next);
  }
  ASSERT_EQ(driven.created_held.size(), 1u);
  EXPECT_EQ(driven.created_held[0].job.branch, root_branch);
  EXPECT_EQ(store_->jobs(run).size(), 1u);
  const Ticket last = driven.submit(run, complete(driven.created_held[0]), fence(driven.created_held[0]), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(last).status);
  EXPECT_EQ(status(run), RunStatus::done);
}

TEST_F(CommitterTest, several_outcomes_of_one_run_are_one_entry) {
  const RunId run = start("fan");
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  const std::int64_t batches = driven->counts().batches;
  for (const HeldJob& branch : std::exchange(driven.created_held, {}))
    driven.submit(run, complete(branch), fence(branch), true);
  driven.settle();
  EXPECT_EQ(driven->counts().batches, batches + 1);
}

TEST_F(CommitterTest, a_conflict_is_decided_again_and_nothing_is_lost) {
  const RunId run = start("fan");
  Driven one(*store_, 5);
  Driven two(*store_, 6);
  one.keeps = two.keeps = false;
  const HeldJob first = claim(5);
  one.submit(run, complete(first), fence(first));
  one.settle();
  const HeldJob left = claim(5);
  const HeldJob right = claim(6);
  two->await_state(900, run, 1);
  two.settle();
  two->tick(noon + 10'000'000);  // as if no other had written it for long
  const Ticket by_one = one.submit(run, complete(left), fence(left));
  const Ticket by_two = two.submit(run, complete(right), fence(right));
  std::mt19937 random(3);
  while (two.commits().empty() && two.collect())
    if (two.commits().empty()) two.step(random);
  one.settle();
  two.settle();
  EXPECT_TRUE(one.reply(by_one).status);
  EXPECT_TRUE(two.reply(by_two).status);
  EXPECT_EQ(two->counts().conflicts, 1);
}

// --- A7: runs with rivals -------------------------------------------------------------------------------------------

// Two committers that hold one branch each of a fan-out of three; nothing of theirs is under way.
class Rivals : public CommitterTest {
 protected:
  Rivals() : run(start("fan")), one(*store_, 5), two(*store_, 6) {
    one.keeps = two.keeps = false;
    const HeldJob first = claim(5);
    one.submit(run, complete(first), fence(first));
    one.settle();
    left = claim(5);
    right = claim(6);
    third = claim(6);
  }
  Ticket report(Driven& driven, const HeldJob& job) { return driven.submit(run, complete(job), fence(job)); }

  const RunId run;
  Driven one;
  Driven two;
  HeldJob left, right, third;
};

TEST_F(Rivals, A7_what_others_wrote_moves_the_cached_state_forward_and_nothing_is_read_again) {
  two->await_state(900, run, 1);
  two.settle();
  const Ticket by_one = report(one, left);
  one.settle();
  ASSERT_TRUE(one.reply(by_one).status);

  const Ticket by_two = report(two, right);
  ASSERT_TRUE(two.collect());
  EXPECT_TRUE(two.loads().empty());
  EXPECT_TRUE(two.commits().empty()) << "it was decided on an old head";
  ASSERT_EQ(two.locked_commits().size(), 1u);
  two.commit_locked();
  two.settle();
  EXPECT_TRUE(two.reply(by_two).status);
  EXPECT_EQ(two.missed, 1) << "the event of the other one, and no more";
  EXPECT_EQ(two->counts().conflicts, 0);
  EXPECT_EQ(store_->run(run)->head, 4);
}

TEST_F(Rivals, A7_after_a_conflict_the_run_is_read_once_and_then_locked_first) {
  two->await_state(900, run, 1);
  two.settle();
  two->tick(noon + 10'000'000);  // the rivals of long ago are forgotten
  const Ticket first = report(two, right);
  ASSERT_TRUE(two.collect());
  ASSERT_EQ(two.commits().size(), 1u);
  report(one, left);
  one.settle();
  std::mt19937 random(1);
  two.step(random);
  ASSERT_TRUE(two.collect());
  EXPECT_EQ(two->counts().conflicts, 1);
  ASSERT_EQ(two.loads().size(), 1u);
  two.step(random);
  ASSERT_TRUE(two.collect());
  EXPECT_EQ(two.locked_commits().size(), 1u);
  two.settle();
  EXPECT_TRUE(two.reply(first).status);
  EXPECT_EQ(two->counts().conflicts, 1);
}

// A group commit: what is reported while the lock is waited for is decided with the rest.
TEST_F(Rivals, A7_outcomes_that_come_while_the_lock_is_waited_for_are_one_entry) {
  two->await_state(900, run, 1);
  two.settle();
  const Ticket first = report(two, right);
  ASSERT_TRUE(two.collect());
  const Ticket second = report(two, third);
  EXPECT_EQ(two.locked_commits().size(), 1u);
  two.commit_locked();
  two.settle();
  EXPECT_TRUE(two.reply(first).status);
  EXPECT_TRUE(two.reply(second).status);
  EXPECT_EQ(two->counts().batches, 1);
}

TEST_F(Rivals, A7_a_run_that_others_left_alone_is_committed_without_a_lock_again) {
  two->await_state(900, run, 1);
  two.settle();
  report(two, right);
  two.settle();
  two->tick(noon + 3'000'000);
  report(two, third);
  ASSERT_TRUE(two.collect());
  EXPECT_EQ(two.commits().size(), 1u);
  EXPECT_TRUE(two.locked_commits().empty());
}

// The store was lost while the lock was waited for: nothing was decided, and all of it is later.
TEST_F(Rivals, A7_a_lock_that_failed_is_asked_for_again) {
  two->await_state(900, run, 1);
  two.settle();
  const Ticket ticket = report(two, right);
  ASSERT_TRUE(two.collect());
  const LockedCommit commit = two.locked_commits().back();
  two.locked_commits().clear();
  two->batch_failed(commit.batch);
  EXPECT_TRUE(two->decide_locked(commit.batch, std::vector<LockedRun>(1)).entries.empty())
      << "it does not stand any more";
  two->tick(noon + 1'000'000);
  two.settle();
  EXPECT_TRUE(two.reply(ticket).status);
}

// The answer to a COMMIT was lost after the decision: the same bytes go again, and the log says that they are there.
TEST_F(Rivals, A7_a_decision_whose_commit_is_in_doubt_goes_again_as_it_was) {
  two->await_state(900, run, 1);
  two.settle();
  const Ticket ticket = report(two, right);
  ASSERT_TRUE(two.collect());
  const LockedCommit commit = two.locked_commits().back();
  two.locked_commits().clear();
  store_->commit_locked(commit.shard, commit.runs,
                        [&](std::vector<LockedRun> runs) { return two->decide_locked(commit.batch, std::move(runs)); });
  two->batch_failed(commit.batch);
  two->tick(noon + 1'000'000);
  two.settle();
  EXPECT_TRUE(two.reply(ticket).status);
  EXPECT_EQ(two->counts().conflicts, 0);
  EXPECT_EQ(store_->run(run)->head, 3);
}

TEST_F(CommitterTest, a_stale_fence_is_answered_stale_and_its_batch_goes_on) {
  const RunId run = start("linear", {{"text", "x"}});
  const HeldJob job = claim(5);
  const RunId other = start("linear", {{"text", "y"}});
  const HeldJob good = claim(5);
  store_->release(std::vector{std::pair(run, fence(job))}, noon);
  Driven driven(*store_, 5);
  const Ticket stale = driven.submit(run, complete(job), fence(job), true);
  const Ticket fine = driven.submit(other, complete(good), fence(good), true);
  driven.settle();
  ASSERT_FALSE(driven.reply(stale).status);
  EXPECT_EQ(driven.reply(stale).status.error().code, Code::stale);
  EXPECT_TRUE(driven.reply(fine).status);
  EXPECT_EQ(store_->run(run)->head, 1);
}

TEST_F(CommitterTest, the_outcome_for_a_run_that_was_cancelled_is_answered_closed) {
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven->await_state(900, run, 1);
  driven.settle();
  ASSERT_TRUE(client_->command(run, Cancel{"enough"}));
  const Ticket ticket = driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  ASSERT_FALSE(driven.reply(ticket).status);
  EXPECT_EQ(driven.reply(ticket).status.error().code, Code::closed);
  EXPECT_EQ(driven->created_held_under_way(), 0);
}

// The row says another head than the events, as after a bad restore: every commit is a conflict that no other writer
// made.
TEST_F(CommitterTest, conflicts_without_progress_back_off_and_end_as_corrupt) {
  const RunId run = start("wait");
  Driven driven(*store_, 5);
  const Ticket ticket = driven.submit(run, SendSignal{"a", 1, "s1"});
  std::mt19937 random(1);
  int commits = 0;
  TimeUs now = noon;
  for (int rounds = 0; rounds < 100 && !driven.replies.contains(ticket); ++rounds) {
    while (driven.collect()) {
      if (!driven.locked_commits().empty()) {
        const LockedCommit commit = driven.locked_commits().back();
        driven.locked_commits().pop_back();
        ++commits;
        EXPECT_TRUE(driven->decide_locked(commit.batch, {{.head = 2, .chain_hash = {}, .missed = {}}}).entries.empty());
        driven->verdicts(commit.batch, {});
      } else if (!driven.commits().empty()) {
        const CommitBatch batch = driven.commits().back();
        driven.commits().pop_back();
        ++commits;
        driven->verdicts(batch.batch, {{.kind = Verdict::Kind::conflict, .head = 2, .stale = {}, .fault = {}}});
      } else {
        driven.step(random);
      }
    }
    if (driven.replies.contains(ticket)) break;
    ASSERT_GT(driven->due_us(), now) << "it does not spin";
    ASSERT_LT(driven->due_us(), never_us);
    now = driven->due_us();
    driven->tick(now);
  }
  ASSERT_FALSE(driven.reply(ticket).status);
  EXPECT_EQ(driven.reply(ticket).status.error().code, Code::corrupt);
  EXPECT_EQ(commits, 10);
  EXPECT_GT(now - noon, 3'000'000);
  EXPECT_TRUE(driven->idle());
}

// Stands for a database whose rows of a run do not agree with its events.
class ContradictoryStore : public test::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  TimeUs database_time() override { return now_ += 1'000'000; }
  std::vector<Verdict> commit(Shard, std::span<const Entry> batch, CommitOptions) override {
    ++commits;
    std::vector<Verdict> verdicts(batch.size());
    for (std::size_t at = 0; at < batch.size(); ++at) {
      verdicts[at].kind = Verdict::Kind::conflict;
      verdicts[at].head = batch[at].head_before + 1;
    }
    return verdicts;
  }
  LockedCommitted commit_locked(Shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    ++commits;
    std::vector<LockedRun> locked;
    for (const KnownRun& run : runs) locked.push_back({.head = run.head + 1, .chain_hash = {}, .missed = {}});
    EXPECT_TRUE(decide(std::move(locked)).entries.empty());
    return {};
  }
  int commits = 0;

 private:
  TimeUs now_ = noon;
};

// It waits while its run backs off; it took that for a bug, and ended the process.
TEST_F(CommitterTest, a_client_waits_while_its_run_backs_off) {
  const RunId run = start("wait");
  ContradictoryStore store(*store_);
  const Catalogue catalogue;
  Client client(store, catalogue, "test");
  client.load_graphs();
  const Result<Done> done = client.command(run, SendSignal{"a", 1, "s1"});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::corrupt) << done.error().message;
  EXPECT_EQ(store.commits, 10);
}

// The linked run is at fault, not this one.
TEST_F(CommitterTest, a_run_that_a_linked_entry_holds_back_does_not_back_off) {
  const RunId run = start("wait");
  Driven driven(*store_, 5);
  const Ticket ticket = driven.submit(run, SendSignal{"a", 1, "s1"});
  std::mt19937 random(1);
  int conflicts = 0;
  while (driven.collect()) {
    if (driven.commits().empty() || conflicts == 20) {
      driven.step(random);
      continue;
    }
    const CommitBatch batch = driven.commits().back();
    driven.commits().pop_back();
    ++conflicts;
    const Entry& entry = batch.entries->at(0);
    driven->verdicts(batch.batch, {{.kind = Verdict::Kind::conflict,
                                    .head = entry.head_before,
                                    .chain_hash = entry.chain_before,
                                    .stale = {},
                                    .fault = {}}});
  }
  EXPECT_EQ(conflicts, 20);
  EXPECT_TRUE(driven.reply(ticket).status.ok());
}

// The store stands for a database that never takes a value: the task that brings it is answered, and no other.
TEST_F(CommitterTest, a_value_that_the_database_never_takes_refuses_its_own_task_alone) {
  const RunId run = start("wait");
  const RunId other = start("wait");
  Driven driven(*store_, 5);
  const Ticket before = driven.submit(run, SendSignal{"a", "fine", "s1"});
  const Ticket culprit = driven.submit(run, SendSignal{"a", "poison", "s2"});
  const Ticket after = driven.submit(run, SendSignal{"a", "fine", "s3"});
  const Ticket bystander = driven.submit(other, SendSignal{"a", "fine", "s4"});
  const auto is_poisoned = [](const Entry& entry) {
    return std::any_of(entry.events.begin(), entry.events.end(),
                       [](const EventRow& row) { return row.payload.find("poison") != std::string::npos; });
  };
  std::mt19937 random(1);
  for (int rounds = 0; driven.collect(); ++rounds) {
    ASSERT_LT(rounds, 100) << "it never ends";
    if (driven.commits().empty()) {
      driven.step(random);
      continue;
    }
    const CommitBatch batch = driven.commits().back();
    driven.commits().pop_back();
    std::vector<Verdict> verdicts;
    for (const Entry& entry : *batch.entries)
      verdicts.push_back(is_poisoned(entry) ? Verdict{.kind = Verdict::Kind::refused, .stale = {}, .fault = "too long"}
                                            : store_->commit(batch.shard, {&entry, 1}, {}).front());
    driven->verdicts(batch.batch, std::move(verdicts));
  }
  EXPECT_TRUE(driven->idle());
  EXPECT_TRUE(driven.reply(before).status);
  ASSERT_FALSE(driven.reply(culprit).status);
  EXPECT_EQ(driven.reply(culprit).status.error().code, Code::corrupt);
  EXPECT_NE(driven.reply(culprit).status.error().message.find("too long"), std::string::npos);
  EXPECT_TRUE(driven.reply(after).status);
  EXPECT_TRUE(driven.reply(bystander).status);
  EXPECT_EQ(store_->run(run)->head, 3);
}

TEST_F(CommitterTest, a_refusal_is_never_given_on_the_word_of_an_old_state) {
  const RunId run = start("wait");
  Driven driven(*store_, 5);
  driven->await_state(900, run, 1);
  driven.settle();
  const HeldJob timer = claim(6);
  Driven other(*store_, 6);
  other->tick(noon + 100'000);
  other.submit(run, Due{timer.job.step}, fence(timer));
  other.settle();
  const HeldJob job = claim(5);
  const Ticket ticket = driven.submit(run, complete(job), fence(job));
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status) << driven.reply(ticket).status.error().message;
  const Ticket wrong = driven.submit(run, Answer{"q9", "x", "", {}});
  driven.settle();
  EXPECT_FALSE(driven.reply(wrong).status);
}

// The driven committer's load is older than the job and the command that arrive during it.
TEST_F(CommitterTest, what_was_read_before_a_look_or_a_command_came_is_not_taken_for_newer) {
  const RunId run = start("wait");
  Driven driven(*store_, 5);
  driven->await_state(900, run, 1);
  ASSERT_TRUE(driven.collect());
  History old = std::move(read_histories(*store_, {driven.loads().data(), 1}).front());
  driven.loads().clear();
  const HeldJob timer = claim(6);
  Driven other(*store_, 6);
  other->tick(noon + 100'000);
  other.submit(run, Due{timer.job.step}, fence(timer));
  other.settle();

  const HeldJob job = claim(5);
  ASSERT_GT(job.run_head, old.rows.back().seq);
  driven->await_state(901, run, job.run_head);
  const Ticket ticket = driven.submit(run, complete(job), fence(job));
  driven->history(std::move(old));
  driven.collect();
  EXPECT_TRUE(driven.replies.contains(900));
  EXPECT_FALSE(driven.replies.contains(901)) << "its step would be executed on a state that does not know it";
  driven.settle();
  EXPECT_GE(driven.reply(901).head, job.run_head);
  EXPECT_TRUE(driven.reply(ticket).status) << driven.reply(ticket).status.error().message;
}

// --- a server that takes over without the last events ----------------------------------------------------------------

class Standby : public CommitterTest {
 protected:
  Standby()
      : standby(make_memory_store(1, [this] { return now_; })),
        their_client(client_with_graphs(*standby, *catalogue_)),
        store(*store_, *standby),
        one(store, 5),
        run(new_run_id()) {
    one.keeps = false;
    StartRun start;
    start.run = run;
    start.graph = "fan";
    one.submit(run, start);
    one.settle();
    Driven there(*standby, 7);
    there.keeps = false;
    there.submit(run, start);
    there.settle();
  }

  std::unique_ptr<Store> standby;
  std::unique_ptr<Client> their_client;
  TakenOver store;
  Driven one;
  const RunId run;
};

TEST_F(Standby, a_step_that_is_open_there_is_executed_although_the_cached_state_has_closed_it) {
  const HeldJob first = claim(*store_, 5);
  one.submit(run, complete(first), fence(first));
  one.settle();
  store.take_over();
  const HeldJob again = claim(*standby, 5);
  ASSERT_EQ(again.job.step, first.job.step);
  const Ticket ticket = one.submit(run, complete(again), fence(again));
  one.settle();
  EXPECT_TRUE(one.reply(ticket).status) << one.reply(ticket).status.error().message;
}

TEST_F(Standby, issue_18_that_the_history_has_gone_back_is_told) {
  const HeldJob first = claim(*store_, 5);
  one.submit(run, complete(first), fence(first));
  one.settle();
  EXPECT_TRUE(one.gone_back.empty());
  store.take_over();
  one->doubt(run);
  one->await_state(901, run, 1);
  one.settle();
  ASSERT_EQ(one.gone_back.size(), 1u);
  EXPECT_EQ(one.gone_back[0].run, run);
  EXPECT_EQ(one.gone_back[0].known, 2);
  EXPECT_EQ(one.gone_back[0].found, 1);
  one->await_state(902, run, 1);
  one.settle();
  EXPECT_EQ(one.gone_back.size(), 1u) << "once";
}

TEST_F(Standby, a_doubted_state_is_read_again) {
  const HeldJob first = claim(*store_, 5);
  one.submit(run, complete(first), fence(first));
  one.settle();
  store.take_over();
  one->await_state(900, run, 1);
  one.settle();
  EXPECT_EQ(one.reply(900).head, 2) << "it is at hand";
  one->doubt(run);
  one->await_state(901, run, 1);
  one.settle();
  EXPECT_EQ(one.reply(901).head, 1);
}

TEST_F(Standby, events_of_another_history_are_not_folded_onto_the_cached_state) {
  Driven other(*store_, 6);
  other.keeps = false;
  const HeldJob first = claim(*store_, 6);
  other.submit(run, complete(first, {{"word", "lost"}}), fence(first));
  other.settle();
  one->await_state(900, run, 2);  // so it has rivals, and locks the run before it decides
  one.settle();

  Driven there(*standby, 7);
  there.keeps = false;
  const HeldJob theirs = claim(*standby, 7);
  there.submit(run, complete(theirs, {{"word", "kept"}}), fence(theirs));
  there.settle();
  const HeldJob left = claim(*standby, 7);
  there.submit(run, complete(left), fence(left));
  there.settle();

  store.take_over();
  const HeldJob right = claim(*standby, 5);
  const Ticket ticket = one.submit(run, complete(right), fence(right));
  one.settle();
  EXPECT_TRUE(one.reply(ticket).status);
  ASSERT_NE(one->state(run), nullptr);
  EXPECT_EQ(read_channels(*one->state(run), 1)["word"], "kept");
}

TEST_F(CommitterTest, a_called_run_ends_in_one_commit_with_its_step) {
  const RunId run = start("call", {{"word", "hi"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  ASSERT_NE(job.run, run);
  const std::int64_t batches = driven->counts().batches;
  const Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(driven->counts().batches, batches + 1);
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::done);
}

TEST_F(CommitterTest, a_called_run_ends_although_its_caller_moved_on_meanwhile) {
  const RunId run = start("call", {{"word", "hi"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven->await_state(900, run, 1);
  driven.settle();
  ASSERT_TRUE(client_->command(run, SendSignal{"note", 1, "s1"}));  // the caller's cached state is old now
  const Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(driven->counts().conflicts, 2);  // both of the link
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::done);
}

// A3: the child left alone, and its caller waited for ever.
TEST_F(CommitterTest, A3_a_called_run_does_not_end_while_its_caller_cannot_be_read) {
  const RunId run = start("call", {{"word", "hi"}});
  NewerRelease store(*store_);
  store.newer = run;
  Driven driven(store, 5);
  const HeldJob job = claim(5);
  const Ticket before = driven.submit(job.run, SendSignal{"note", 1, "s1"});
  Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(before).status) << "what went before it passes";
  ASSERT_FALSE(driven.reply(ticket).status);
  EXPECT_EQ(driven.reply(ticket).status.error().code, Code::unsupported);
  EXPECT_EQ(status(job.run), RunStatus::running);
  EXPECT_EQ(status(run), RunStatus::running);
  store.newer = {};
  ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_TRUE(store_->loose_ends({}, 10).empty());
}

TEST_F(CommitterTest, A3_nor_does_the_run_that_a_called_run_called) {
  ASSERT_TRUE(client_->add_graph(parse_stored(R"({"name": "outer", "start": "c", "limits": {"steps": 9}, "nodes": {
      "c": {"call": "call", "with": {"word": "$word"}, "on": {"done": "z", "failed": "z"}}, "z": {"end": "done"}}})")));
  const RunId outer = start("outer", {{"word", "hi"}});
  NewerRelease store(*store_);
  store.newer = outer;
  Driven driven(store, 5);
  const HeldJob job = claim(5);
  const RunId middle = *store_->run(job.run)->parent;
  ASSERT_NE(middle, outer);
  Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  ASSERT_FALSE(driven.reply(ticket).status);
  for (const RunId& run : {job.run, middle, outer}) EXPECT_EQ(status(run), RunStatus::running);
  store.newer = {};
  ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  for (const RunId& run : {job.run, middle, outer}) EXPECT_EQ(status(run), RunStatus::done);
}

// A3 and A7: the end is decided under the called run's lock, and its caller is read after that.
TEST_F(CommitterTest, A3_nor_does_a_called_run_that_others_write_too) {
  ASSERT_TRUE(client_->add_graph(parse_stored(R"({"name": "outer", "start": "c", "limits": {"steps": 9}, "nodes": {
      "c": {"call": "fan", "on": {"done": "z", "failed": "z"}}, "z": {"end": "done"}}})")));
  const RunId outer = start("outer");
  NewerRelease store(*store_);
  Driven one(*store_, 6), two(store, 5);
  one.keeps = two.keeps = false;
  HeldJob job = claim(6);
  one.submit(job.run, complete(job), fence(job));
  one.settle();
  two->await_state(900, job.run, 1);
  two.settle();
  two->tick(noon + 10'000'000);  // as if no other had written it for long
  const auto report = [&](Driven& driven, SessionId session) {
    job = claim(session);
    const Ticket ticket = driven.submit(job.run, complete(job), fence(job));
    driven.settle();
    return ticket;
  };
  EXPECT_TRUE(one.reply(report(one, 6)).status);
  for (int step = 0; step < 3; ++step) EXPECT_TRUE(two.reply(report(two, 5)).status);
  store.newer = outer;
  job = claim(5);
  Ticket ticket = two.submit(job.run, complete(job), fence(job));
  ASSERT_TRUE(two.collect());
  ASSERT_EQ(two.locked_commits().size(), 1u);
  two.settle();
  ASSERT_FALSE(two.reply(ticket).status);
  EXPECT_EQ(two.reply(ticket).status.error().code, Code::unsupported);
  for (const RunId& run : {job.run, outer}) EXPECT_EQ(status(run), RunStatus::running);
  store.newer = {};
  ticket = two.submit(job.run, complete(job), fence(job));
  two.settle();
  EXPECT_TRUE(two.reply(ticket).status);
  for (const RunId& run : {job.run, outer}) EXPECT_EQ(status(run), RunStatus::done);
  EXPECT_TRUE(store_->loose_ends({}, 10).empty());
}

TEST_F(CommitterTest, A3_a_caller_that_has_not_heard_of_an_end_is_told) {
  const RunId run = start("call", {{"word", "hi"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  driven->submit(
      {.ticket = 900, .run = job.run, .command = complete(job), .fence = fence(job), .caller_has_ended = true});
  driven.settle();
  ASSERT_EQ(status(job.run), RunStatus::done);
  ASSERT_EQ(status(run), RunStatus::running);
  driven->finish_call(901, job.run);
  driven.settle();
  EXPECT_TRUE(driven.reply(901).status);
  EXPECT_EQ(status(run), RunStatus::done);
  driven->finish_call(902, job.run);
  driven.settle();
  ASSERT_FALSE(driven.reply(902).status);
  EXPECT_EQ(driven.reply(902).status.error().code, Code::closed);
}

// A19: other tasks of the run waited until the next submission to it.
TEST_F(CommitterTest, A19_what_waits_behind_a_command_that_cannot_be_decided_is_decided) {
  const RunId run = start("wait");
  int draws = 0;
  Driven driven(*store_, 5, 2'000, [&](CommitterOptions& of) {
    of.draw = [&] { return draws++ == 0 ? throw std::runtime_error("it cannot be decided") : 0.5; };
  });
  const Ticket culprit = driven.submit(run, SendSignal{"a", 1, "s1"});
  const Ticket behind = driven.submit(run, SendSignal{"a", 1, "s2"});
  driven.settle();
  ASSERT_FALSE(driven.reply(culprit).status);
  EXPECT_TRUE(driven.reply(behind).status);
}

TEST_F(CommitterTest, H24_a_decision_that_there_is_no_memory_for_is_refused_and_the_next_one_is_made) {
  const RunId run = start("wait");
  int draws = 0;
  Driven driven(*store_, 5, 2'000,
                [&](CommitterOptions& of) { of.draw = [&] { return draws++ == 0 ? throw std::bad_alloc() : 0.5; }; });
  const Ticket culprit = driven.submit(run, SendSignal{"a", 1, "s1"});
  const Ticket behind = driven.submit(run, SendSignal{"a", 1, "s2"});
  driven.settle();
  ASSERT_FALSE(driven.reply(culprit).status);
  EXPECT_EQ(driven.reply(culprit).status.error().code, Code::limit);
  EXPECT_TRUE(driven.reply(behind).status);
}

TEST_F(CommitterTest, H24_a_run_that_there_is_no_memory_for_is_refused_and_not_read_again_without_end) {
  const RunId run = start("wait");
  Driven driven(*store_, 5);
  const Ticket ticket = driven.submit(run, SendSignal{"a", 1, "s1"});
  ASSERT_TRUE(driven.collect());
  ASSERT_EQ(driven.loads().size(), 1u);
  driven.loads().clear();
  History history;
  history.run = run;
  history.fits = false;
  driven->history(std::move(history));
  driven.settle();
  ASSERT_FALSE(driven.reply(ticket).status);
  EXPECT_EQ(driven.reply(ticket).status.error().code, Code::limit);
}

TEST_F(CommitterTest, A9_folded_states_are_bounded_by_bytes) {
  Driven driven(*store_, 5, 2'000, [](CommitterOptions& of) { of.states_bytes_max = 200'000; });
  for (Ticket ticket = 900; ticket < 920; ++ticket) {
    const RunId run = start("wait", {{"text", std::string(30'000, 'x')}});
    driven->await_state(ticket, run, 1);
    driven.settle();
    ASSERT_TRUE(driven.reply(ticket).status);
    EXPECT_NE(driven->state(run), nullptr) << "its step reads it next";
    (void)driven.collect();
    EXPECT_LE(driven->states_bytes(), 200'000 + 70'000);
  }
  EXPECT_GT(driven->counts().forgotten, 10);
}

TEST_F(CommitterTest, A9_batches_and_entries_are_bounded_by_bytes) {
  constexpr std::size_t bytes_max = 50'000, one = 20'000;
  std::vector<RunId> runs;
  for (int n = 0; n < 5; ++n) runs.push_back(start("wait"));
  Driven driven(*store_, 5, 2'000, [](CommitterOptions& of) { of.batch_bytes_max = bytes_max; });
  std::vector<Ticket> tickets;
  const auto send = [&](const RunId& run) {
    const std::string id = "s" + std::to_string(tickets.size());
    tickets.push_back(driven.submit(run, SendSignal{"a", std::string(one, 'x'), id}));
  };
  for (const RunId& run : runs) send(run);
  for (int n = 0; n < 10; ++n) send(runs[0]);
  std::mt19937 random(1);
  int batches = 0;
  for (; driven.collect(); driven.step(random)) {
    for (const CommitBatch& batch : driven.commits()) {
      std::size_t bytes = 0;
      for (const Entry& entry : *batch.entries) bytes += bytes_of(entry);
      EXPECT_LT(bytes, batch.entries->size() == 1 ? bytes_max + one + 1'000 : bytes_max);
      ++batches;
    }
  }
  EXPECT_GT(batches, 4);
  for (const Ticket ticket : tickets) EXPECT_TRUE(driven.reply(ticket).status);
}

TEST_F(CommitterTest, a_called_run_ends_alone_when_its_caller_has_ended) {
  const RunId run = start("call", {{"word", "hi"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  ASSERT_TRUE(client_->command(run, Cancel{"enough"}));
  const Ticket ticket = driven.submit(job.run, complete(job), fence(job), true);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(status(job.run), RunStatus::done);
  EXPECT_EQ(status(run), RunStatus::aborted);
}

TEST_F(CommitterTest, an_unavailable_store_gets_the_same_bytes_again) {
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  const Ticket ticket = driven.submit(run, complete(job), fence(job), true);
  std::mt19937 random(1);
  while (driven.commits().empty() && driven.collect())
    if (driven.commits().empty()) driven.step(random);
  const CommitBatch batch = driven.commits().at(0);
  const std::vector<EventRow> before = batch.entries->at(0).events;
  driven.commits().clear();
  driven->batch_failed(batch.batch);
  EXPECT_FALSE(driven.collect());
  EXPECT_FALSE(driven->idle());
  EXPECT_LT(driven->due_us(), noon + 1'000'000);
  driven->tick(driven->due_us());
  ASSERT_TRUE(driven.collect());
  EXPECT_EQ(driven.commits().at(0).batch, batch.batch);
  EXPECT_EQ(driven.commits().at(0).entries->at(0).events.at(0).payload, before.at(0).payload);
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
}

TEST_F(CommitterTest, histories_whose_reading_failed_are_asked_for_again_each_alone) {
  const std::vector<RunId> runs = {start("linear", {{"text", "x"}}), start("linear", {{"text", "y"}})};
  Driven driven(*store_, 5);
  for (std::size_t at = 0; at < runs.size(); ++at) driven->await_state(900 + at, runs[at], 1);
  ASSERT_TRUE(driven.collect());
  ASSERT_EQ(driven.loads().size(), 2u);
  for (const Load& load : std::exchange(driven.loads(), {})) {
    EXPECT_FALSE(load.alone);
    driven->load_failed(load.run);
  }
  EXPECT_FALSE(driven.collect()) << "not at once";
  driven->tick(driven->due_us());
  ASSERT_TRUE(driven.collect());
  ASSERT_EQ(driven.loads().size(), 2u);
  for (const Load& load : driven.loads()) EXPECT_TRUE(load.alone);
  driven.settle();
  for (const Ticket ticket : {900u, 901u}) EXPECT_TRUE(driven.reply(ticket).is_state);
}

TEST_F(CommitterTest, a_commit_that_landed_although_it_failed_is_no_conflict_with_itself) {
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  const Ticket ticket = driven.submit(run, complete(job), fence(job), true);
  std::mt19937 random(1);
  while (driven.commits().empty() && driven.collect())
    if (driven.commits().empty()) driven.step(random);
  const CommitBatch batch = driven.commits().at(0);
  ASSERT_EQ(store_->commit(batch.shard, *batch.entries, {}).at(0).kind, Verdict::Kind::committed);
  driven.commits().clear();
  driven->batch_failed(batch.batch);
  driven->tick(driven->due_us());
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_TRUE(driven.reply(ticket).next) << "the branch that it holds was lost";
  EXPECT_EQ(driven->counts().conflicts + driven->counts().stale, 0);
}

TEST_F(CommitterTest, a_run_that_cannot_be_read_is_refused_and_disturbs_nobody) {
  Entry bad;
  bad.run.id = new_run_id();
  bad.run.graph = "linear";
  bad.run.version = "nowhere";
  EventRow row;
  row.seq = 1;
  row.at_us = noon;
  row.type = 999;
  row.version = 1;
  row.payload = "{}";
  bad.events = {row};
  ASSERT_EQ(store_->commit(0, std::vector{bad}, {})[0].kind, Verdict::Kind::committed);
  const RunId run = start("linear", {{"text", "x"}});
  Driven driven(*store_, 5);
  const HeldJob job = claim(5);
  const Ticket broken = driven.submit(bad.run.id, Cancel{"x"});
  const Ticket missing = driven.submit(new_run_id(), Cancel{"x"});
  const Ticket fine = driven.submit(run, complete(job), fence(job), true);
  driven.settle();
  ASSERT_FALSE(driven.reply(broken).status);
  EXPECT_EQ(driven.reply(broken).status.error().code, Code::unsupported);
  EXPECT_EQ(driven.reply(missing).status.error().code, Code::not_found);
  EXPECT_TRUE(driven.reply(fine).status);
}

TEST_F(CommitterTest, pause_adjusts_what_nobody_holds_and_leaves_holds_alone) {
  const RunId run = start("linear", {{"text", "x"}});
  ASSERT_TRUE(client_->command(run, Pause{}));
  EXPECT_EQ(store_->jobs(run)[0].job.run_at_us, never_us);
  ASSERT_TRUE(client_->command(run, Resume{}));
  const HeldJob job = claim(5);
  ASSERT_TRUE(client_->command(run, Pause{}));
  EXPECT_EQ(store_->jobs(run)[0].epoch, job.epoch);
  EXPECT_EQ(store_->jobs(run)[0].session, 5);
  Driven driven(*store_, 5);
  const Ticket ticket = driven.submit(run, complete(job), fence(job));
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(store_->jobs(run)[0].job.run_at_us, never_us);
}

// A claim that begins where rows were offered lately must find it.
TEST_F(CommitterTest, what_goes_on_after_a_pause_is_offered_from_then_on) {
  const RunId run = start("linear", {{"text", "x"}});
  EXPECT_EQ(store_->jobs(run)[0].job.run_at_us, noon);
  ASSERT_TRUE(client_->command(run, Pause{}));
  now_ = noon + 60'000'000;
  ASSERT_TRUE(client_->command(run, Resume{}));
  EXPECT_EQ(store_->jobs(run)[0].job.run_at_us, now_);
}

TEST_F(CommitterTest, a_large_state_is_kept_again_only_after_as_many_bytes_of_events) {
  const auto kept_of = [this](const std::string& text) {
    const RunId run = start("linear", {{"text", text}});
    Driven driven(*store_, 7, 4);
    for (int n = 0; n < 50; ++n) {
      driven.submit(run, SendSignal{"noted", std::string(200, 'x'), ""});
      driven.settle();
    }
    return driven.snapshots;
  };
  EXPECT_EQ(kept_of(std::string(20'000, 'x')), 1);
  EXPECT_GT(kept_of(""), 1);
}

// Nor for those that end its steps one after another: what they left is in the state as well.
TEST_F(CommitterTest, a_wide_state_is_not_kept_for_the_events_that_opened_it) {
  const RunId run = start("map");
  const HeldJob job = claim(5);
  CompleteStep plan = complete(job);
  for (int n = 0; n < 400; ++n) {
    SubGoalOpened goal;
    goal.sub_goal = "g" + std::to_string(n);
    goal.tool = "echo";
    goal.inputs = Json::object();
    plan.outcome.facts.emplace_back(std::move(goal));
  }
  Driven driven(*store_, 5, 100);
  const Ticket ticket = driven.submit(run, std::move(plan), fence(job));
  driven.settle();
  EXPECT_TRUE(driven.reply(ticket).status);
  EXPECT_EQ(store_->jobs(run).size(), 400u);
  EXPECT_EQ(driven.snapshots, 0);
  ASSERT_EQ(driven.created_held.size(), 400u);
  for (const HeldJob& branch : driven.created_held) {
    CompleteStep done = complete(branch);
    done.outcome.label.clear();
    driven.submit(run, std::move(done), fence(branch));
    driven.settle();
  }
  EXPECT_EQ(driven.snapshots, 0);
}

// The snapshot is false: a committer that used it would decide otherwise.
TEST_F(CommitterTest, a_snapshot_of_an_older_fold_is_ignored_and_the_run_is_folded_from_its_events) {
  const RunId run = start("linear", {{"text", "x"}});
  const std::int64_t head = store_->run(run)->head;
  const auto text_of = [](const RunState* state) {
    return state == nullptr ? Json("no state") : read_channels(*state, root_branch).value("text", Json("no text"));
  };
  RunState lying = *client_->state(run);
  lying.branches.at(root_branch).data.set({{"text", "a lie"}}, *lying.graph);
  const std::string text = canonical(snapshot_json(lying));
  for (const auto& [version, expected] : {std::pair{fold_version - 1, "x"}, std::pair{fold_version, "a lie"}}) {
    store_->put_snapshot(run, {head, version, store_->run(run)->chain_hash, text});
    Driven driven(*store_, 5);
    driven->await_state(1, run, head);
    driven.settle();
    EXPECT_EQ(text_of(driven->state(run)), expected) << "the committer, fold version " << version;
    const Result<RunState> shown = client_->state(run);
    ASSERT_TRUE(shown);
    EXPECT_EQ(text_of(&*shown), expected) << "the client, fold version " << version;
  }
}

TEST_F(CommitterTest, a_reopened_run_has_all_its_jobs_again) {
  const RunId run = start("thrown");
  const HeldJob job = claim(5);
  Driven driven(*store_, 5);
  driven.submit(run, FailStep{job.job.step, 1, {"error", "no", false, {}}, 5, noon}, fence(job));
  driven.settle();
  ASSERT_EQ(status(run), RunStatus::failed);
  EXPECT_TRUE(store_->jobs(run).empty());
  ASSERT_TRUE(client_->command(run, Reopen{}));
  ASSERT_EQ(store_->jobs(run).size(), 1u);
  EXPECT_GT(store_->jobs(run)[0].epoch, job.epoch);
}

// Two committers, sixteen runs that call, fan out and meet; whatever the order of their work, every run ends, no
// command is answered twice, and the queue is what the folded states say.
TEST_F(CommitterTest, two_committers_in_any_order_bring_every_run_to_its_end) {
  for (unsigned seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<RunId> runs;
    for (int i = 0; i < 8; ++i) runs.push_back(start(i % 2 == 0 ? "fan" : "call", {{"word", "hi"}}));
    Driven one(*store_, 5);
    Driven two(*store_, 6);
    std::map<std::pair<int, Ticket>, HeldJob> open;
    for (int turn = 0; turn < 5'000; ++turn) {
      Driven& driven = random() % 2 == 0 ? one : two;
      const SessionId session = &driven == &one ? 5 : 6;
      ClaimRequest request;
      request.queues = {"default"};
      request.session = session;
      request.now_us = noon + 1'000'000'000;
      std::vector<HeldJob> jobs = std::exchange(driven.created_held, {});
      if (random() % 3 == 0)
        for (HeldJob& job : store_->claim(request).jobs) jobs.push_back(std::move(job));
      for (auto& [ticket, reply] : std::exchange(driven.replies, {})) {
        EXPECT_TRUE(reply.status) << reply.status.error().message;
        if (reply.next) jobs.push_back(*std::move(reply.next));
      }
      for (const HeldJob& job : jobs) driven.submit(job.run, complete(job), fence(job), random() % 2 == 0);
      if (driven.collect()) driven.step(random);
    }
    one.settle();
    two.settle();
    for (const RunId& run : runs) {
      EXPECT_EQ(status(run), RunStatus::done);
      EXPECT_TRUE(store_->jobs(run).empty());
    }
  }
}

}  // namespace
}  // namespace cairn
