// Claims when it has room, keeps, lets go, drains, gives back.
#include "workers/session/pool.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/commit_rules.hpp"
#include "workers/ids.hpp"
#include "workers/ports/local_process.hpp"
#include "workers/session/sweeper.hpp"

namespace cairn {
namespace {

PoolOptions options(std::int32_t concurrency = 8, std::int32_t shards = 1) {
  PoolOptions made;
  made.shards = shards;
  made.concurrency = concurrency;
  made.poll_us = 1'000;
  made.keep_steps = 3;
  return made;
}

PoolOptions patient() {
  PoolOptions made = options();
  made.poll_us = 500'000;
  return made;
}

HeldJob job(BranchId branch = 1, StepId step = 1) {
  HeldJob made;
  made.run = RunId{{1}};
  made.job.branch = branch;
  made.job.step = step;
  made.job.queue = "default";
  made.session = 5;
  made.epoch = 2;
  return made;
}

std::vector<HeldJob> jobs(std::int32_t count) {
  std::vector<HeldJob> made;
  for (BranchId branch = 1; branch <= count; ++branch) made.push_back(job(branch));
  return made;
}

TEST(Pool, an_idle_pool_claims_all_its_slots_once) {
  Pool pool(options());
  const Pool::Actions first = pool.drain_actions();
  ASSERT_EQ(first.claims.size(), 1u);
  EXPECT_EQ(first.claims[0].limit, 8);
  EXPECT_EQ(pool.free_slots(), 0);
  EXPECT_TRUE(pool.drain_actions().empty());
}

// Where a rate lets one step begin at a time, the first shard had them all.
TEST(Pool, shards_take_turns_at_being_asked_first) {
  Pool pool(options(32, 4));
  std::vector<Shard> first;
  for (int round = 0; round < 4; ++round) {
    pool.something_ready();
    const Pool::Actions actions = pool.drain_actions();
    ASSERT_EQ(actions.claims.size(), 4u);
    first.push_back(actions.claims[0].shard);
    for (const Pool::Claim& claim : actions.claims) pool.claimed(claim.shard, {});
  }
  EXPECT_EQ(first, (std::vector<Shard>{0, 1, 2, 3}));
}

// A wide run's jobs follow one another in its commits; other runs must not wait for the last of them.
TEST(Pool, A7_after_some_jobs_that_commits_brought_others_are_claimed) {
  PoolOptions few = patient();
  few.concurrency = 1;
  Pool pool(few);
  pool.tick(1'000'000, 1'000'000);
  pool.drain_actions();
  pool.claimed(0, jobs(1));
  Pool::Slot slot = pool.drain_actions().starts.at(0).slot;
  for (std::int32_t left = 3; left > 0; --left) {
    EXPECT_EQ(pool.refills(), left);
    pool.refilled(jobs(1));
    pool.done(slot);
    const Pool::Actions actions = pool.drain_actions();
    EXPECT_TRUE(actions.claims.empty());
    slot = actions.starts.at(0).slot;
  }
  EXPECT_EQ(pool.refills(), 0);
  pool.done(slot);
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u) << "at once, although nothing was heard of";
  pool.claimed(0, {});
  EXPECT_EQ(pool.refills(), 3);
  pool.drain();
  EXPECT_EQ(pool.refills(), 0);
}

// A limit that came while a claim was answered late would be taken for older than the hold.
TEST(Pool, a_branch_is_held_from_when_its_claim_was_asked_for) {
  Pool pool(patient());
  pool.tick(1'000'000, 1'000'000);
  ASSERT_EQ(pool.drain_actions().claims.size(), 1u);
  pool.tick(4'000'000, 4'000'000);
  pool.claimed(0, jobs(1));
  EXPECT_EQ(pool.held_us(pool.drain_actions().starts.at(0).slot), 3'000'000);
}

// The run's home asks for it by name first, then for any job, whatever brought the claim about.
TEST(Pool, runs_at_home_are_claimed_by_name_before_any_others) {
  Pool pool(patient());
  const RunId home = job().run;
  pool.tick(1'000'000, 1'000'000);
  pool.add_home(home);
  const auto claims = [&](std::vector<HeldJob> found) {
    const Pool::Actions actions = pool.drain_actions();
    EXPECT_EQ(actions.claims.size(), 1u);
    pool.claimed(0, std::move(found));
    return actions.claims.empty() ? std::vector<RunId>{} : actions.claims[0].only_runs;
  };
  EXPECT_EQ(claims({}), std::vector{home});
  EXPECT_TRUE(claims({}).empty());
  EXPECT_TRUE(pool.drain_actions().claims.empty());

  pool.notified();
  EXPECT_EQ(claims({}), std::vector{home});
  const Pool::Actions notified = pool.drain_actions();
  ASSERT_EQ(notified.claims.size(), 1u);
  EXPECT_TRUE(notified.claims[0].notified_only) << "the one that it names may be of another run";
  pool.claimed(0, {});

  pool.tick(2'000'000, 2'000'000);
  EXPECT_EQ(claims({}), std::vector{home}) << "a poll asks too";
  EXPECT_TRUE(claims({}).empty());
  pool.remove_home(home);
  pool.something_ready();
  EXPECT_TRUE(claims({}).empty());
}

// A19: a run that no worker could read was claimed again and again.
TEST(Pool, A19_a_run_left_to_others_is_passed_by_for_a_pause_that_doubles_until_a_step_of_it_is_committed) {
  Pool pool(options());
  const auto claim = [&](TimeUs at) {
    pool.tick(at, at);
    const Pool::Actions actions = pool.drain_actions();
    EXPECT_EQ(actions.claims.size(), 1u);
    return actions.claims.empty() ? Pool::Claim{} : actions.claims[0];
  };
  const auto start = [&] {
    pool.claimed(0, jobs(1));
    return pool.drain_actions().starts.at(0).slot;
  };
  const RunId run = job().run;
  TimeUs now = 1'000'000;
  EXPECT_TRUE(claim(now).not_of.empty());
  for (TimeUs pause = RunBackoff::first_us; pause <= 4 * RunBackoff::first_us; pause *= 2) {
    pool.leave_run_to_others(start());
    const Pool::Actions left = pool.drain_actions();
    ASSERT_EQ(left.releases.size(), 1u);
    EXPECT_EQ(left.releases[0].run_at_us, now) << "others need not wait";
    EXPECT_EQ(claim(now + pause - 1).not_of, std::vector{run});
    pool.claimed(0, {});
    now += pause + 2'000;
    EXPECT_TRUE(claim(now).not_of.empty());
  }
  const Pool::Slot slot = start();
  pool.committed(slot);
  pool.done(slot);
  (void)claim(now += 2'000);
  pool.leave_run_to_others(start());
  (void)pool.drain_actions();
  EXPECT_TRUE(claim(now + RunBackoff::first_us + 2'000).not_of.empty()) << "the first pause again";
}

// D5: who fails fast took the most.
TEST(Pool, D5_a_process_that_is_short_of_something_claims_nothing_for_a_second_and_then_a_little_more_each_second) {
  constexpr TimeUs second = 1'000'000;
  Pool pool(options(256));
  TimeUs now = second;
  const auto claims = [&] {
    pool.tick(now, now);
    const Pool::Actions actions = pool.drain_actions();
    return actions.claims.empty() ? 0 : actions.claims[0].limit;
  };
  EXPECT_EQ(claims(), 256);
  pool.claimed(0, jobs(256));
  const std::vector<Pool::Start> starts = pool.drain_actions().starts;
  for (std::size_t at = 8; at < starts.size(); ++at) pool.fell_short(starts[at].slot, now + second);
  const Pool::Actions left = pool.drain_actions();
  EXPECT_EQ(left.releases.size(), 248u);
  EXPECT_EQ(left.releases.at(0).run_at_us, now + second);
  EXPECT_TRUE(left.claims.empty());
  for (std::size_t at = 0; at < 8; ++at) pool.done(starts[at].slot);
  EXPECT_EQ(pool.due_us(), now + second);
  now += second - 1;
  EXPECT_EQ(claims(), 0) << "whatever is free";
  now += 1;
  EXPECT_EQ(claims(), 10) << "the eight that went on, and a quarter more";
  pool.claimed(0, {});
  for (int seconds = 0; seconds < 30; ++seconds, now += second) pool.tick(now, now);
  EXPECT_EQ(claims(), 256);
}

TEST(Pool, D5_where_nothing_can_be_done_one_step_is_tried_each_second) {
  constexpr TimeUs second = 1'000'000;
  Pool pool(options());
  int tried = 0;
  for (TimeUs now = second; now < 11 * second; now += second / 100) {
    pool.tick(now, now);
    if (const Pool::Actions actions = pool.drain_actions(); !actions.claims.empty()) {
      EXPECT_TRUE(tried == 0 || actions.claims[0].limit <= 2);
      pool.claimed(0, jobs(1));
      pool.fell_short(pool.drain_actions().starts.at(0).slot, now + second);
      ++tried;
    }
  }
  EXPECT_EQ(tried, 10);
}

TEST(Pool, what_is_claimed_is_started_and_the_rest_is_free_again) {
  Pool pool(options());
  (void)pool.drain_actions();
  pool.claimed(0, jobs(3));
  const Pool::Actions actions = pool.drain_actions();
  EXPECT_EQ(actions.starts.size(), 3u);
  EXPECT_TRUE(actions.claims.empty());
  EXPECT_EQ(pool.free_slots(), 5);
}

// The offering process may have a clock ahead of ours: the job is not due here for a moment yet.
TEST(Pool, a_wake_up_that_finds_nothing_is_followed_by_one_more_look) {
  Pool pool(patient());
  (void)pool.drain_actions();
  pool.claimed(0, {});
  pool.something_ready();
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u);
  pool.claimed(0, {});
  EXPECT_TRUE(pool.drain_actions().empty());
  EXPECT_EQ(pool.due_us(), 2'000);
  pool.tick(2'000, 2'000);
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u);
  pool.claimed(0, {});
  EXPECT_EQ(pool.due_us(), 502'000);
}

TEST(Pool, a_claim_answers_a_hint_alone_only_if_nothing_else_is_to_be_found) {
  Pool pool(patient());
  const auto claims_on_hint = [&pool] {
    const Pool::Actions actions = pool.drain_actions();
    EXPECT_EQ(actions.claims.size(), 1u);
    return actions.claims.at(0).notified_only;
  };
  EXPECT_FALSE(claims_on_hint()) << "the first looks at all there is";
  pool.notified();
  pool.claimed(0, jobs(1));
  EXPECT_TRUE(claims_on_hint());
  pool.claimed(0, jobs(7));
  (void)pool.drain_actions();
  for (const Pool::Slot slot : {Pool::Slot{1}, Pool::Slot{2}}) pool.done(slot);
  pool.notified();
  EXPECT_FALSE(claims_on_hint()) << "the claim before was filled";
  pool.claimed(0, {});
  pool.due(1'000);
  pool.notified();
  pool.tick(1'000, 1'000);
  EXPECT_FALSE(claims_on_hint()) << "something else is due";
  pool.claimed(0, {});
  pool.notified();
  pool.something_ready();
  EXPECT_FALSE(claims_on_hint()) << "a queue may have become free";
}

// If notifications arrived all the time, jobs without one would otherwise never be found.
TEST(Pool, hints_do_not_put_off_the_look_at_all_there_is) {
  Pool pool(patient());
  (void)pool.drain_actions();
  pool.claimed(0, {});
  int on_hint = 0;
  for (TimeUs now = 100'000;; now += 100'000) {
    ASSERT_LE(now, 500'000);
    pool.tick(now, now);
    pool.notified();
    const Pool::Actions actions = pool.drain_actions();
    ASSERT_EQ(actions.claims.size(), 1u);
    if (!actions.claims[0].notified_only) break;
    pool.claimed(0, jobs(1));
    (void)pool.drain_actions();
    pool.done(static_cast<Pool::Slot>(++on_hint));
  }
  EXPECT_EQ(on_hint, 4);
}

TEST(Pool, a_pool_for_any_run_stays_so_when_a_run_is_added) {
  Pool pool(options());
  pool.add_run(RunId{{1}});
  EXPECT_TRUE(pool.executes(RunId{{2}}));
  EXPECT_TRUE(pool.drain_actions().claims.at(0).only_runs.empty())
      << "it would execute that run and no others any more";
}

TEST(Pool, after_an_empty_claim_it_waits_for_the_poll) {
  Pool pool(options());
  (void)pool.drain_actions();
  pool.claimed(0, {});
  EXPECT_TRUE(pool.drain_actions().claims.empty());
  EXPECT_EQ(pool.due_us(), 1'000);
  pool.tick(1'000, 1'000);
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u);
}

TEST(Pool, a_wake_up_brings_a_claim_at_once) {
  Pool pool(options());
  (void)pool.drain_actions();
  pool.claimed(0, {});
  pool.something_ready();
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u);
}

TEST(Pool, a_wake_up_during_a_claim_is_not_forgotten) {
  Pool pool(options());
  (void)pool.drain_actions();
  pool.something_ready();
  pool.claimed(0, {});
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u);
}

TEST(Pool, a_failed_claim_is_tried_at_the_next_poll) {
  Pool pool(options());
  (void)pool.drain_actions();
  pool.claim_failed(0);
  EXPECT_EQ(pool.free_slots(), 8);
  EXPECT_TRUE(pool.drain_actions().claims.empty());
  pool.tick(1'000, 1'000);
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u);
}

TEST(Pool, a_failed_claim_for_its_homes_is_tried_at_the_next_poll_too) {
  Pool pool(options());
  pool.add_home(RunId{{7}});
  ASSERT_EQ(pool.drain_actions().claims.size(), 1u);
  pool.claim_failed(0);
  EXPECT_TRUE(pool.drain_actions().claims.empty());
  pool.tick(1'000, 1'000);
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u);
}

TEST(Pool, while_steps_run_it_waits_until_a_claim_is_worth_it) {
  Pool pool(options(8));
  (void)pool.drain_actions();
  pool.claimed(0, jobs(8));
  const Pool::Actions started = pool.drain_actions();
  EXPECT_TRUE(started.claims.empty());
  pool.done(started.starts[0].slot);
  EXPECT_TRUE(pool.drain_actions().claims.empty());
  pool.done(started.starts[1].slot);
  const Pool::Actions actions = pool.drain_actions();
  ASSERT_EQ(actions.claims.size(), 1u);
  EXPECT_EQ(actions.claims[0].limit, 2);
}

TEST(Pool, a_due_time_brings_a_claim_before_the_poll) {
  Pool pool(options());
  (void)pool.drain_actions();
  pool.claimed(0, {});
  pool.due(300);
  EXPECT_EQ(pool.due_us(), 300);
  pool.tick(299, 299);
  EXPECT_TRUE(pool.drain_actions().claims.empty());
  pool.tick(300, 300);
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u);
}

TEST(Pool, a_branch_stays_until_it_has_had_its_steps_and_others_wait) {
  Pool pool(options(1));
  (void)pool.drain_actions();
  pool.claimed(0, jobs(1));
  for (StepId step = 2; step <= 3; ++step) {
    const Pool::Slot slot = pool.drain_actions().starts.at(0).slot;
    EXPECT_TRUE(pool.may_keep(slot));
    pool.continues(slot, job(1, step));
  }
  EXPECT_FALSE(pool.may_keep(pool.drain_actions().starts.at(0).slot));
}

TEST(Pool, with_room_for_others_a_branch_may_stay_longer) {
  Pool pool(options(2));
  (void)pool.drain_actions();
  pool.claimed(0, jobs(1));
  for (StepId step = 2; step <= 6; ++step) {
    const Pool::Slot slot = pool.drain_actions().starts.at(0).slot;
    EXPECT_TRUE(pool.may_keep(slot));
    pool.continues(slot, job(1, step));
  }
}

TEST(Pool, a_branch_that_stays_is_held_since_it_was_claimed) {
  Pool pool(options(2));
  pool.tick(100, 100);
  (void)pool.drain_actions();
  pool.claimed(0, jobs(1));
  const Pool::Slot first = pool.drain_actions().starts.at(0).slot;
  pool.tick(150, 150);
  EXPECT_EQ(pool.held_us(first), 50);
  pool.continues(first, job(1, 2));
  pool.tick(170, 90);
  EXPECT_EQ(pool.held_us(pool.drain_actions().starts.at(0).slot), 70);
}

TEST(Pool, nothing_stays_when_keeping_is_off) {
  PoolOptions off = options();
  off.keep = false;
  Pool pool(off);
  (void)pool.drain_actions();
  pool.claimed(0, jobs(1));
  EXPECT_FALSE(pool.may_keep(pool.drain_actions().starts.at(0).slot));
}

TEST(Pool, what_is_given_back_is_released_with_its_fence_and_not_claimed_before_its_time) {
  Pool pool(options());
  (void)pool.drain_actions();
  pool.claimed(0, jobs(1));
  pool.give_back(pool.drain_actions().starts.at(0).slot, 700);
  const Pool::Actions actions = pool.drain_actions();
  ASSERT_EQ(actions.releases.size(), 1u);
  EXPECT_EQ(actions.releases[0].fence.epoch, 2);
  EXPECT_EQ(actions.releases[0].fence.session, 5);
  EXPECT_EQ(actions.releases[0].run_at_us, 700);
  EXPECT_TRUE(actions.claims.empty());
  EXPECT_TRUE(pool.is_idle() || pool.free_slots() == 8);
}

// Found by the simulator, seed 3389331801: a step that waited for its turn was given back by an older time than its
// own.
TEST(Pool, what_is_given_back_is_offered_no_earlier_than_its_time) {
  Pool pool(options());
  (void)pool.drain_actions();
  HeldJob later = job();
  later.job.run_at_us = 900;
  pool.claimed(0, {later});
  pool.give_back(pool.drain_actions().starts.at(0).slot, 700);
  EXPECT_EQ(pool.drain_actions().releases.at(0).run_at_us, 900);
}

// A worker without the step's handler claimed the job again the moment it was due, before the workers that have it.
TEST(Pool, what_is_passed_on_is_left_to_others) {
  Pool pool(options(32, 1));
  (void)pool.drain_actions();
  pool.claimed(0, jobs(1));
  const Pool::Slot slot = pool.drain_actions().starts.at(0).slot;
  pool.leave_to_others(slot, 500);
  EXPECT_EQ(pool.drain_actions().releases.size(), 1u);
  pool.tick(500, 500);
  EXPECT_TRUE(pool.drain_actions().claims.empty());
}

// Found by the simulator, seed 1303552879.
TEST(Pool, what_comes_while_it_drains_is_offered_no_earlier_than_its_time) {
  Pool pool(options());
  pool.tick(1'000, 500'000);
  pool.drain();
  HeldJob later = job(9);
  later.job.run_at_us = 504'000;  // of a session whose clock is ahead
  pool.created_held(later);
  HeldJob now = job(10);
  now.job.run_at_us = 400'000;
  pool.created_held(now);
  const Pool::Actions actions = pool.drain_actions();
  ASSERT_EQ(actions.releases.size(), 2u);
  EXPECT_EQ(actions.releases[0].run_at_us, 504'000);
  EXPECT_EQ(actions.releases[1].run_at_us, 500'000);
}

TEST(Pool, draining_starts_nothing_and_releases_what_still_comes) {
  Pool pool(options());
  (void)pool.drain_actions();
  pool.claimed(0, jobs(1));
  const Pool::Slot running = pool.drain_actions().starts.at(0).slot;
  pool.tick(1'000, 1'000);
  ASSERT_EQ(pool.drain_actions().claims.size(), 1u);
  pool.drain();
  EXPECT_FALSE(pool.may_keep(running));
  pool.claimed(0, jobs(2));
  pool.created_held(job(9));
  const Pool::Actions actions = pool.drain_actions();
  EXPECT_TRUE(actions.starts.empty());
  EXPECT_TRUE(actions.claims.empty());
  EXPECT_EQ(actions.releases.size(), 3u);
  EXPECT_FALSE(pool.is_idle());
  pool.done(running);
  EXPECT_TRUE(pool.is_idle());
}

TEST(Pool, each_shard_is_claimed_from) {
  Pool pool(options(32, 4));
  const Pool::Actions actions = pool.drain_actions();
  ASSERT_EQ(actions.claims.size(), 4u);
  for (const Pool::Claim& claim : actions.claims) EXPECT_EQ(claim.limit, 8);
}

TEST(Pool, of_very_many_runs_each_claim_names_some_until_all_have_been_looked_at) {
  PoolOptions many = options();
  for (int n = 0; n < 1'100; ++n) many.only_runs.push_back(new_run_id());
  Pool pool(many);
  const auto named = [&] {
    const Pool::Actions actions = pool.drain_actions();
    return actions.claims.empty() ? std::vector<RunId>{} : actions.claims.front().only_runs;
  };
  const auto some = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
    return std::vector<RunId>(many.only_runs.begin() + from, many.only_runs.begin() + to);
  };
  EXPECT_EQ(named(), some(0, 500));
  pool.claimed(0, jobs(8));
  for (Pool::Start& start : pool.drain_actions().starts) pool.done(start.slot);
  EXPECT_EQ(named(), some(0, 500)) << "a claim that was filled may have left some";
  pool.claimed(0, {});
  EXPECT_EQ(named(), some(500, 1'000));
  pool.claimed(0, {});
  EXPECT_FALSE(pool.finds_nothing());
  EXPECT_EQ(named().size(), 500u);
  pool.claimed(0, {});
  EXPECT_TRUE(pool.finds_nothing());
  EXPECT_TRUE(named().empty());
  pool.something_ready();
  EXPECT_EQ(named().front(), many.only_runs[400]);
}

TEST(Pool, only_runs_are_claimed_in_their_shard_alone) {
  PoolOptions chosen = options(32, 4);
  const RunId run = new_run_id();
  chosen.only_runs = {run};
  Pool pool(chosen);
  const Pool::Actions actions = pool.drain_actions();
  ASSERT_EQ(actions.claims.size(), 1u);
  EXPECT_EQ(actions.claims[0].shard, shard_of(run, 4));
  EXPECT_EQ(actions.claims[0].only_runs, std::vector<RunId>{run});
  const RunId other = new_run_id();
  EXPECT_FALSE(pool.executes(other));
  pool.add_run(other);
  EXPECT_TRUE(pool.executes(other));
}

// --- sweep ----------------------------------------------------------------------------------------------------------

SessionRow session(SessionId id, std::int64_t counter) {
  SessionRow row;
  row.id = id;
  row.counter = counter;
  return row;
}

TEST(Sweep, a_session_that_stands_still_for_the_time_to_live_is_dead) {
  SessionWatch watch(1, 100, 50);
  const std::vector<SessionRow> rows = {session(1, 0), session(2, 7)};
  EXPECT_TRUE(watch.scanned(rows, 0).empty());
  EXPECT_TRUE(watch.scanned(rows, 50).empty());
  EXPECT_EQ(watch.scanned(rows, 100), std::vector<SessionId>{2});
}

TEST(Sweep, a_beat_begins_the_time_anew) {
  SessionWatch watch(1, 100, 50);
  (void)watch.scanned(std::vector{session(2, 7)}, 0);
  (void)watch.scanned(std::vector{session(2, 7)}, 50);
  EXPECT_TRUE(watch.scanned(std::vector{session(2, 8)}, 100).empty());
  EXPECT_TRUE(watch.scanned(std::vector{session(2, 8)}, 150).empty());
  EXPECT_EQ(watch.scanned(std::vector{session(2, 8)}, 200).size(), 1u);
}

TEST(Sweep, one_whose_process_is_gone_is_dead_at_once_but_never_we_ourselves) {
  SessionWatch watch(1, 100, 50);
  const std::vector<SessionRow> rows = {session(1, 0), session(2, 7), session(3, 7)};
  EXPECT_EQ(watch.scanned(rows, 0, std::vector<SessionId>{1, 3}), std::vector<SessionId>{3});
}

TEST(LocalProcess, a_process_is_gone_when_it_has_ended_even_if_nobody_has_asked_for_its_exit) {
  EXPECT_FALSE(machine_id().empty());
  EXPECT_FALSE(is_gone(getpid()));
  EXPECT_FALSE(is_gone(1)) << "another user's";
  EXPECT_FALSE(is_gone(0)) << "no process id";
  int pipe_ends[2] = {};
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    char none = 0;
    close(pipe_ends[1]);
    _exit(read(pipe_ends[0], &none, 1) == 0 ? 0 : 1);  // until the other end is closed
  }
  EXPECT_FALSE(is_gone(child));
  close(pipe_ends[1]);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
  EXPECT_TRUE(is_gone(child)) << "a zombie";
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_gone(child));
  close(pipe_ends[0]);
}

TEST(Sweep, an_outage_in_which_nobody_could_look_kills_nobody) {
  SessionWatch watch(1, 100, 50);
  (void)watch.scanned(std::vector{session(2, 7)}, 0);
  EXPECT_TRUE(watch.scanned(std::vector{session(2, 7)}, 1'000'000).empty());
}

TEST(Sweep, a_loss_carries_the_fence_of_the_dead_and_a_timer_is_no_loss) {
  const Loss loss = loss_of(job(3, 4), "gone", {.alone = ""});
  ASSERT_TRUE(loss.command);
  EXPECT_EQ(loss.command->failure.error, "lost");
  EXPECT_EQ(loss.command->step, 4);
  EXPECT_EQ(loss.fence.branch, 3);
  EXPECT_EQ(loss.fence.epoch, 2);
  HeldJob timer = job();
  timer.job.queue = timer_queue;
  EXPECT_FALSE(loss_of(timer, "gone", {.alone = ""}).command);
}

TEST(Sweep, A10_a_hold_that_had_not_begun_is_only_let_go_and_a_loss_says_whether_it_ran_alone) {
  const HeldJob held = job(3, 4);
  HeldJob other = held;
  other.job.branch = 9;
  EXPECT_FALSE(loss_of(held, "gone", {.alone = ""}).command->alone) << "its session ran it beside others, if at all";
  EXPECT_TRUE(loss_of(held, "gone", {.alone = hold_text(held)}).command->alone);
  EXPECT_FALSE(loss_of(held, "gone", {.alone = hold_text(other)}).command)
      << "its session executed nothing but the other";
  EXPECT_TRUE(loss_of(held, "gone", {}).command->alone) << "an earlier release does not say: it counts";
}

TEST(Sweep, A10_a_loss_says_whether_the_attempt_had_begun) {
  const HeldJob held = job(3, 4);
  const auto has_begun = [&](std::optional<std::vector<std::string>> begun) {
    return loss_of(held, "gone", {.alone = "", .begun = std::move(begun)}).command->begun;
  };
  HeldJob next = held;
  ++next.job.attempt;
  HeldJob again = held;
  ++again.epoch;
  EXPECT_FALSE(has_begun(std::vector<std::string>{}));
  const std::vector<std::string> others = {attempt_text(next), attempt_text(again)};
  EXPECT_FALSE(has_begun(others)) << "another attempt, and a later hold";
  const std::vector<std::string> all = {attempt_text(next), attempt_text(held)};
  EXPECT_TRUE(has_begun(all));
  EXPECT_TRUE(has_begun(std::nullopt)) << "an earlier release does not say: it counts";
}

TEST(Pool, A10_room_is_made_for_one_job_and_nothing_is_claimed_or_kept_beside_it) {
  Pool pool({.shards = 1, .concurrency = 4, .only_runs = {}});
  pool.tick(1, 1);
  ASSERT_EQ(pool.drain_actions().claims.size(), 1u);
  pool.claimed(0, {job(1, 1), job(2, 2)});
  const std::vector<Pool::Start> starts = pool.drain_actions().starts;
  ASSERT_EQ(starts.size(), 2u);
  pool.leave_to_others(starts[1].slot, 1);
  pool.make_room_for(starts[1].job.run);
  pool.something_ready();
  EXPECT_TRUE(pool.drain_actions().claims.empty());
  EXPECT_FALSE(pool.may_keep(starts[0].slot));
  pool.done(starts[0].slot);
  const std::vector<Pool::Claim> claims = pool.drain_actions().claims;
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0].limit, 1);
  EXPECT_EQ(claims[0].only_runs, std::vector<RunId>{starts[1].job.run});
  pool.claimed(0, {job(2, 2)});
  const std::vector<Pool::Start> alone = pool.drain_actions().starts;
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(pool.free_slots(), 0);
  pool.done(alone[0].slot);
  EXPECT_EQ(pool.drain_actions().claims.size(), 1u) << "all is as before";
}

}  // namespace
}  // namespace cairn
