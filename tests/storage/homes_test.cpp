// Homes of runs: a job that is freed meanwhile is found by the session that keeps something open for its run.
#include "tests/storage/set_limits.hpp"
#include "tests/storage/store_test.hpp"

namespace cairn {
namespace {

using namespace test;

class HomesTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    for (const SessionId id : {7, 8}) {
      SessionRow row;
      row.id = id;
      row.queues = {"default"};
      row.started_at = noon + id;
      store().sessions().open(row);
    }
  }

  // A run that session 7 executes, and whose home it is.
  TestRun run_at_home() {
    TestRun run = started_run();
    EXPECT_EQ(claim_one(7).run, run.id());
    store().sessions().set_home(7, run.id(), true);
    return run;
  }
  // Its step fails, and is to be tried again.
  void free_job(TestRun& run, Job job = job_of(1, 2)) {
    Entry entry = run.entry();
    entry.fences.push_back(fence_of(this->job(run, 1)));
    entry.jobs = {offer(std::move(job))};
    ASSERT_EQ(run.commit(entry).kind, Verdict::Kind::committed);
  }
  std::vector<HeldJob> claim_of(SessionId session, const TestRun& run) {
    ClaimRequest request = claim_request(session, 10, last_shard());
    request.only_runs = {run.id()};
    return store().claim(request).jobs;
  }
};

TEST_P(HomesTest, a_freed_job_is_found_by_the_runs_home_and_by_no_other) {
  TestRun run = run_at_home();
  TestRun other = started_run();
  free_job(run);
  EXPECT_EQ(job(run, 1).home, 7);
  EXPECT_TRUE(claim_of(8, run).empty());
  store().sessions().scan_held(8, noon, 100);
  EXPECT_EQ(claim_one(8).run, other.id()) << "other runs are found as ever";
  const std::vector<HeldJob> held = claim_of(7, run);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].session, 7);
  EXPECT_EQ(job(run, 1).home, 0) << "it is held";
}

TEST_P(HomesTest, a_job_that_waits_for_its_home_waits_as_any_other) {
  using Oldest = std::map<std::string, TimeUs>;
  TestRun run = run_at_home();
  EXPECT_EQ(store().jobs().oldest(), Oldest{}) << "it is held";
  free_job(run);
  EXPECT_EQ(store().jobs().oldest(), (Oldest{{"default", noon}}));
  EXPECT_EQ(claim_of(7, run).size(), 1u);
  EXPECT_EQ(store().jobs().oldest(), Oldest{});
}

TEST_P(HomesTest, all_find_it_once_the_home_is_left_or_closed_or_another) {
  TestRun left = run_at_home();
  free_job(left);
  store().sessions().set_home(8, left.id(), false);
  EXPECT_TRUE(claim_of(8, left).empty()) << "only the home itself leaves";
  store().sessions().set_home(7, left.id(), false);
  store().sessions().scan_held(8, noon, 100);
  EXPECT_EQ(claim_one(8).run, left.id());

  TestRun moved = run_at_home();
  store().sessions().set_home(8, moved.id(), true);
  free_job(moved);
  EXPECT_TRUE(claim_of(7, moved).empty());
  EXPECT_EQ(claim_of(8, moved).size(), 1u);

  TestRun closed = run_at_home();
  free_job(closed);
  store().sessions().close(7);
  store().sessions().scan_held(8, noon, 100);
  EXPECT_EQ(claim_one(8).run, closed.id());
}

TEST_P(HomesTest, a_queue_that_the_home_does_not_serve_is_everybodys) {
  TestRun run = run_at_home();
  free_job(run, job_of(1, 2, noon, "other"));
  ClaimRequest request = claim_request(8, 10, last_shard());
  request.queues = {"other"};
  EXPECT_EQ(store().claim(request).jobs.size(), 1u);
}

TEST_P(HomesTest, a_pause_and_a_limit_of_the_queue_hold_at_home_too) {
  TestRun run = run_at_home();
  free_job(run);
  ASSERT_TRUE(set_limits(store(), {.name = "default", .concurrency = {}, .paused = true}));
  EXPECT_TRUE(claim_of(7, run).empty());
  ASSERT_TRUE(set_limits(store(), {.name = "default", .concurrency = 1}));
  EXPECT_EQ(claim_of(7, run).size(), 1u);
  TestRun second = new_run();
  second.start(job_of(1, 1));
  store().sessions().set_home(7, second.id(), true);
  EXPECT_TRUE(claim_of(7, second).empty()) << "one is held";
}

TEST_P(HomesTest, what_waits_at_home_has_its_key_when_the_queue_gets_keys) {
  TestRun run = run_at_home();
  free_job(run);
  ASSERT_TRUE(set_limits(store(), {.name = "default", .key = "tag.customer"}));
  EXPECT_EQ(claim_of(7, run).size(), 1u);
}

TEST_P(HomesTest, what_the_home_gives_up_is_found_by_all) {
  TestRun run = run_at_home();
  store().jobs().release({{{run.id(), fence_of(job(run, 1))}}}, noon);
  EXPECT_EQ(claim_one(8).run, run.id());
}

INSTANTIATE_TEST_SUITE_P(Stores, HomesTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
