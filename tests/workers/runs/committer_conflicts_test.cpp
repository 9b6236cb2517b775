// Runs that others write at the same time, and servers that take over without the last events.
#include "tests/workers/runs/committer_trial.hpp"
#include "tests/workers/runs/taken_over.hpp"
#include "workers/session/store_calls.hpp"

namespace cairn {
namespace {

using namespace test;

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

// Has no memory for the entry of one run, or for what one run has missed.
class FullStore : public test::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::optional<RunId> entry_of, missed_of;
  std::vector<Verdict> commit(Shard shard, std::span<const Entry> entries, CommitOptions options) override {
    check(entries);
    return ForwardingStore::commit(shard, entries, options);
  }
  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    for (const KnownRun& known : runs)
      if (known.id == missed_of) throw std::bad_alloc();
    return ForwardingStore::commit_locked(shard, runs, [&](std::vector<LockedRun> locked) {
      const LockedDecision decision = decide(std::move(locked));
      check(decision.entries);
      return decision;
    });
  }

 private:
  void check(std::span<const Entry> entries) const {
    for (const Entry& entry : entries)
      if (entry.run.id == entry_of) throw std::bad_alloc();
  }
};

// Two runs whose outcomes `two` decides under one lock.
class LockedTogether : public Rivals {
 protected:
  void SetUp() override {
    other = start("fan");
    const HeldJob first = claim(5);
    one.submit(other, complete(first), fence(first));
    one.settle();
    const HeldJob branch = claim(6);
    two->await_state(900, run, 1);
    two->await_state(901, other, 1);
    two.settle();
    tickets = {report(two, right), two.submit(other, complete(branch), fence(branch))};
    ASSERT_TRUE(two.collect());
    ASSERT_EQ(two.locked_commits().size(), 1u);
    ASSERT_EQ(two.locked_commits()[0].runs.size(), 2u);
  }
  std::vector<Verdict> carry_out(Store& store) {
    CommitLocked call{std::exchange(two.locked_commits(), {}).at(0)};
    const std::function<TimeUs()> steady = [] { return noon; };
    call.carry_out({store, steady, {}, [&](std::uint64_t batch, std::vector<LockedRun> runs) {
                      return two->decide_locked(batch, std::move(runs));
                    }});
    two->verdicts(call.commit.batch, call.answer.verdicts);
    return call.answer.verdicts;
  }
  void expect_both_committed() {
    two->tick(noon + 1'000'000);
    two.settle();
    for (const Ticket ticket : tickets) EXPECT_TRUE(two.reply(ticket).status);
    EXPECT_EQ(store_->run(run)->head, 3);
    EXPECT_EQ(store_->run(other)->head, 3);
  }
  RunId other;
  std::vector<Ticket> tickets;
};

// It was "trying again" without end, for all runs that were locked together.
TEST_F(LockedTogether, H24_an_entry_that_there_is_no_memory_for_is_refused_and_the_others_are_committed) {
  FullStore full(*store_);
  full.entry_of = run;
  const std::vector<Verdict> verdicts = carry_out(full);
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[0].kind, Verdict::Kind::refused);
  EXPECT_EQ(verdicts[0].fault, "the memory for it is used up");
  EXPECT_EQ(verdicts[1].kind, Verdict::Kind::committed);
  expect_both_committed();
}

TEST_F(LockedTogether, H24_a_run_whose_missed_events_there_is_no_memory_for_is_read_anew_and_the_others_are_decided) {
  FullStore full(*store_);
  full.missed_of = run;
  const std::vector<Verdict> verdicts = carry_out(full);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, Verdict::Kind::committed);
  EXPECT_EQ(store_->run(other)->head, 3);
  EXPECT_EQ(two->counts().conflicts, 1);
  expect_both_committed();
}

// Gives all runs but one under their locks.
class DamagedStore : public test::ForwardingStore {
 public:
  DamagedStore(Store& store, const RunId& damaged) : ForwardingStore(store), damaged_(damaged) {}
  LockedCommitted commit_locked(Shard shard, std::span<const KnownRun> runs, const DecideLocked& decide) override {
    return ForwardingStore::commit_locked(shard, runs, [&](std::vector<LockedRun> locked) {
      for (std::size_t at = 0; at < runs.size(); ++at)
        if (runs[at].id == damaged_) locked[at] = {.head = -1, .chain_hash = {}, .missed = {}};
      return decide(std::move(locked));
    });
  }

 private:
  const RunId damaged_;
};

TEST_F(LockedTogether, A1_a_run_that_the_store_cannot_lock_is_read_anew_and_answered_as_that_reads) {
  DamagedStore damaged(*store_, run);
  const std::vector<Verdict> verdicts = carry_out(damaged);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdicts[0].kind, Verdict::Kind::committed);
  ASSERT_TRUE(two.collect());
  ASSERT_EQ(two.loads().size(), 1u);
  EXPECT_EQ(two.loads()[0].run, run);
  EXPECT_EQ(two.loads()[0].after_seq, 0);
  two.loads().clear();
  two->history(History{.run = run, .snapshot = {}, .rows = {}, .fault = "invalid page in block 7"});
  two.settle();
  ASSERT_FALSE(two.reply(tickets[0]).status);
  EXPECT_EQ(two.reply(tickets[0]).status.error().code, Code::unsupported);
  EXPECT_NE(two.reply(tickets[0]).status.error().message.find("invalid page"), std::string::npos);
  EXPECT_TRUE(two.reply(tickets[1]).status);
}

// The row says another head than the events, as after a bad restore: every commit is a conflict that no other writer
// made.
TEST_F(CommitterTest, A8_conflicts_without_progress_back_off_and_end_as_corrupt) {
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
      EXPECT_TRUE(store_->jobs().of(run).empty());
    }
  }
}

}  // namespace
}  // namespace cairn
