// The claimer's scans: where they begin and what they take by its key: marks, priorities, notifications.
#include "storage/postgres/claims/job_claimer.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <thread>

#include "tests/storage/set_limits.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"
#include "tests/waiting.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

TEST(NotifiedJobs, tell_of_the_one_job_that_all_hints_since_have_named) {
  NotifiedJobs hinted;
  const NotifiedJob here{0, run_on(0, 2), 1};
  const NotifiedJob there{1, run_on(1, 2), 2};
  const auto is_run = [](const std::optional<NotifiedJob>& found, const NotifiedJob& job) {
    return found && found->run == job.run && found->branch == job.branch;
  };
  EXPECT_FALSE(hinted.only_one(0));
  hinted.add(here);
  EXPECT_TRUE(is_run(hinted.only_one(0), here));
  EXPECT_FALSE(hinted.only_one(0)) << "it has been told";
  hinted.add(there);
  EXPECT_FALSE(hinted.only_one(0)) << "it is another shard's";
  hinted.add(here);
  EXPECT_TRUE(is_run(hinted.only_one(0), here));
  EXPECT_TRUE(is_run(hinted.only_one(1), there)) << "which has not asked since";
  hinted.add(here);
  hinted.add(here);
  EXPECT_FALSE(hinted.only_one(0)) << "there were two";
  hinted.add(here);
  hinted.add(std::nullopt);
  EXPECT_FALSE(hinted.only_one(0)) << "one of them may have been of anything";
  hinted.add(std::nullopt);
  for (int n = 0; n < 100; ++n) hinted.add(there);
  hinted.add(here);
  EXPECT_FALSE(hinted.only_one(0)) << "too many to remember them all";
}

class JobClaimerTest : public ::testing::Test {
 protected:
  RunId start(TimeUs run_at_us = noon, std::int32_t priority = 0) {
    TestRun run(*store_);
    EXPECT_EQ(run.start(job_of(1, 1, run_at_us, "default", priority)).kind, Kind::committed);
    return run.id();
  }

  // So much after noon that marks may pass jobs of noon.
  static ClaimRequest later_request(std::int32_t limit) {
    ClaimRequest request = claim_request(7, limit);
    request.now_us = noon + 1'000'000;
    return request;
  }

  const std::string dsn_ = new_database(1);
  const std::unique_ptr<Store> store_ = store_on(dsn_);
  Placements placements_{{dsn_, "test", true}, 2};
  NotifiedJobs hinted_;
};

TEST_F(JobClaimerTest, on_a_hint_the_job_it_names_is_taken_and_without_one_whatever_is_due) {
  const RunId older = start(noon - 1);
  const RunId newer = start();
  JobClaimer desk(placements_, hinted_);
  const auto claim = [&](bool notified_only) {
    ClaimRequest request = claim_request(7);
    request.notified_only = notified_only;
    std::vector<RunId> runs;
    for (const HeldJob& held : desk.claim(request).jobs) runs.push_back(held.run);
    return runs;
  };
  hinted_.add(NotifiedJob{0, newer, 1});
  EXPECT_EQ(claim(true), std::vector<RunId>{newer});
  hinted_.add(NotifiedJob{0, newer, 1});
  EXPECT_EQ(claim(true), std::vector<RunId>{older}) << "what it names is held, so whatever else there is";
  EXPECT_TRUE(claim(true).empty());

  start();
  hinted_.add(NotifiedJob{0, start(), 1});
  EXPECT_EQ(claim(false).size(), 2u) << "who does not ask for a hint's sake gets all";
}

// A limit holds for a job that is claimed by its key as for any other.
TEST_F(JobClaimerTest, a_hint_of_a_paused_queue_gives_nothing) {
  const RunId run = start();
  ASSERT_TRUE(set_limits(*store_, {.name = "default", .paused = true}));
  JobClaimer desk(placements_, hinted_);
  ClaimRequest request = claim_request(7);
  request.notified_only = true;
  for (int n = 0; n < 2; ++n) {
    hinted_.add(NotifiedJob{0, run, 1});
    EXPECT_TRUE(desk.claim(request).jobs.empty());
  }
}

// The lock on a limited queue is a write: a claim that found nothing waited for the disk, and all others for it.
TEST_F(JobClaimerTest, a_claim_that_takes_nothing_waits_for_no_disk_and_one_that_counts_does) {
  ASSERT_TRUE(set_limits(*store_, {.name = "default", .concurrency = 5}));
  PgConnection owner({.dsn = dsn_, .application = "test", .prepared = false});
  owner.execute(R"(
    create table public.commits (setting text);
    grant all on public.commits to public;
    create function public.note_commit() returns trigger language plpgsql as
      $$ begin insert into public.commits values (current_setting('synchronous_commit')); return null; end $$;
    create constraint trigger note_commit after insert or delete on cairn.permit deferrable initially deferred
      for each row execute function public.note_commit();)");
  const auto commits = [&](const auto& call) {
    owner.execute("truncate public.commits");
    call();
    std::vector<std::string> settings;
    const PgResult rows = owner.query({"commits", "select setting from public.commits"});
    for (int row = 0; row < rows.rows(); ++row) settings.emplace_back(rows.text(row, 0));
    return settings;
  };
  TestRun run(*store_);
  ASSERT_EQ(run.start(job_of(1, 1)).kind, Kind::committed);
  const auto claim = [&](std::size_t jobs) {
    JobClaimer desk(placements_, hinted_);
    EXPECT_EQ(desk.claim(claim_request(7)).jobs.size(), jobs);
  };
  EXPECT_EQ(commits([&] { claim(1); }), std::vector<std::string>{"on"});
  Entry entry = run.entry();
  entry.jobs = {drop(1)};
  ASSERT_EQ(run.commit(entry).kind, Kind::committed);
  EXPECT_EQ(commits([&] { claim(0); }), std::vector<std::string>{"off"}) << "the next claim retires the permit again";
}

// Earlier releases know a concurrency and a pause alone. They would begin as many steps as they like.
TEST_F(JobClaimerTest, a_queue_with_a_rate_is_a_paused_one_for_releases_that_know_none) {
  ASSERT_TRUE(set_limits(*store_, {.name = "default", .rate = StartRate{1, 1'000'000, 1}}));
  PgConnection database({dsn_, "a test", false});
  EXPECT_TRUE(database.query({"whole", "select paused from cairn.queue"}).boolean(0, 0));
  ASSERT_TRUE(set_limits(*store_, {.name = "default"}));
  EXPECT_FALSE(database.query({"whole", "select paused from cairn.queue"}).boolean(0, 0));
}

TEST_F(JobClaimerTest, a_limit_of_a_newer_release_is_obeyed_by_leaving_the_queue_alone_and_is_not_lost) {
  start();
  ASSERT_TRUE(set_limits(*store_, {.name = "default", .rate = StartRate{1, 1'000'000, 9}}));
  PgConnection database({dsn_, "a test", false});
  database.query({"whole", R"(update cairn.queue set limits = '{"paused":false,"phase":"moon"}')"});
  JobClaimer desk(placements_, hinted_);
  for (int n = 0; n < 2; ++n) EXPECT_TRUE(desk.claim(claim_request(7)).jobs.empty());
  const Status refused = set_limits(*store_, {.name = "default", .concurrency = 3});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
}

TEST_F(JobClaimerTest, with_marks_no_job_is_left_behind) {
  JobClaimer desk(placements_, hinted_, 1);  // marks are used from the second claim on
  const auto claim_one = [&] { return desk.claim(later_request(1)).jobs; };
  start(noon + 10, 5);
  ASSERT_EQ(claim_one().size(), 1u);
  const RunId later = start(noon + 20, 5);
  const RunId urgent = start(noon + 30, 1);
  const RunId below = start(noon, 7);
  const RunId earlier = start(noon, 5);
  EXPECT_EQ(claim_one().at(0).run, urgent) << "a level the marks do not know";
  EXPECT_EQ(claim_one().at(0).run, later) << "what lies behind the mark";
  EXPECT_EQ(claim_one().at(0).run, below);
  std::vector<HeldJob> last;
  EXPECT_TRUE(wait_until([&] { return !(last = claim_one()).empty(); })) << "what lies before the mark, a little later";
  EXPECT_EQ(last.at(0).run, earlier);
}

TEST_F(JobClaimerTest, every_priority_is_found_those_at_the_ends_too) {
  JobClaimer desk(placements_, hinted_, 1);
  using Limits = std::numeric_limits<std::int32_t>;
  std::vector<std::int32_t> found;
  const auto claim = [&] {
    for (const HeldJob& held : desk.claim(later_request(10)).jobs) found.push_back(held.job.priority);
  };
  const std::vector<std::int32_t> all{Limits::min(), -2, -1, 3, 4, Limits::max()};
  for (const std::int32_t priority : all) start(noon, priority);
  claim();
  EXPECT_EQ(found, all) << "nothing is known yet: one look everywhere";
  found.clear();
  for (const std::int32_t priority : {1, 2, 7, 8}) start(noon, priority);
  EXPECT_TRUE(wait_until([&] { return claim(), found.size() >= 4; })) << "between the known ones";
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::int32_t>{1, 2, 7, 8})) << "one in each gap, and after a pause everywhere";
}

TEST_F(JobClaimerTest, a_mark_stays_behind_now_for_rows_committed_late) {
  JobClaimer desk(placements_, hinted_, 1);
  ClaimRequest request = claim_request(7, 1);
  request.now_us = noon + 100'000;
  start(noon + 50'000);
  ASSERT_EQ(desk.claim(request).jobs.size(), 1u);
  const RunId late = start(noon);
  start(noon + 60'000);
  EXPECT_EQ(desk.claim(request).jobs.at(0).run, late);
}

TEST_F(JobClaimerTest, where_a_look_everywhere_is_dear_one_from_a_minute_ago_still_finds_what_came_late) {
  JobClaimer desk(placements_, hinted_);
  ClaimRequest request = later_request(2);
  const auto claim_slowly = [&] {
    PgConnection other({dsn_, "test", false});
    other.execute("BEGIN; LOCK TABLE cairn.queue IN EXCLUSIVE MODE");
    std::thread unlocking([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      other.execute("COMMIT");
    });
    const std::size_t found = desk.claim(request).jobs.size();
    unlocking.join();
    return found;
  };
  for (int looks = 0; looks < 2; ++looks) {
    start(request.now_us);
    EXPECT_EQ(claim_slowly(), 1u);
  }
  const RunId old = start(request.now_us - 120'000'000);
  const RunId late = start(request.now_us - 30'000'000);
  std::vector<HeldJob> found = desk.claim(request).jobs;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].run, late);
  EXPECT_TRUE(wait_until([&] { return !(found = desk.claim(request).jobs).empty(); })) << "everywhere, when it may";
  EXPECT_EQ(found[0].run, old);
}

}  // namespace
}  // namespace cairn
