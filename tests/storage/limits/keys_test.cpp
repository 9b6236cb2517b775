// Limits for each key of a queue, and the turns of its keys, on both stores.
#include <algorithm>
#include <map>
#include <set>

#include "storage/limit_book.hpp"
#include "tests/storage/set_limits.hpp"
#include "tests/storage/store_test.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

using namespace test;
using Kind = Verdict::Kind;

constexpr TimeUs an_hour_us = 3'600'000'000;

class QueueKeysTest : public StoreTest {
 protected:
  void set(QueueLimits limits) {
    const Status changed = set_limits(store(), std::move(limits));
    EXPECT_TRUE(changed) << changed.error().message;
  }
  // A run for each of these customers, in this order, on the first shard.
  std::vector<TestRun> runs_of(const std::vector<std::string>& customers, std::int32_t priority = 0) {
    std::vector<TestRun> runs;
    for (const std::string& customer : customers) {
      runs.emplace_back(store(), 0);
      TestRun& run = runs.back();
      if (!customer.empty()) run.row.tags = {{"customer", customer}};
      Entry entry = run.entry();
      entry.events[0].payload = canonical(Json{{"input", {{"customer", {{"id", customer}}}}}});
      entry.jobs = {offer(job_of(1, 1, noon - 1'000 + (++started_), "model", priority))};
      EXPECT_EQ(run.commit(entry).kind, Kind::committed);
      customer_of_[run.id()] = customer;
    }
    return runs;
  }
  std::vector<HeldJob> claim_model(std::int32_t most, const std::vector<RunId>& only_runs = {}) {
    ClaimRequest request = claim_request(7, most, 0);
    request.queues = {"model"};
    request.only_runs = only_runs;
    return store().claim(request).jobs;
  }
  // The customers whose jobs claims bring, `most` at once, until there is none.
  std::map<std::string, int> counts(std::int32_t most, int claims = 20) {
    std::map<std::string, int> counts;
    for (int n = 0; n < claims; ++n)
      for (const HeldJob& job : claim_model(most)) ++counts[customer_of_.at(job.run)];
    return counts;
  }
  std::string order_of(int claims) {
    std::string order;
    for (int n = 0; n < claims; ++n)
      for (const HeldJob& job : claim_model(1)) order += customer_of_.at(job.run);
    return order;
  }

  // One server, whose rows a test may change by hand.
  bool is_one_server() const { return !dsn().empty() && !GetParam().citus; }

  std::map<RunId, std::string> customer_of_;
  TimeUs started_ = 0;
};

using Counts = std::map<std::string, int>;

TEST_P(QueueKeysTest, no_more_of_a_key_is_held_than_its_concurrency_by_tag_and_by_input) {
  for (const char* key : {"tag.customer", "/customer/id"}) {
    SCOPED_TRACE(key);
    set({.name = "model", .key = key, .key_concurrency = 2});
    std::vector<TestRun> runs = runs_of({"a", "a", "a", "a", "b", "c", "c", "c"});
    EXPECT_EQ(counts(10), (Counts{{"a", 2}, {"b", 1}, {"c", 2}}));
    set({.name = "model", .concurrency = {}, .paused = false});
    counts(100);  // the rest, so that nothing of it is left for the next key
    for (TestRun& run : runs) {
      Entry entry = run.entry();
      entry.jobs = {drop(1)};
      EXPECT_EQ(run.commit(entry).kind, Kind::committed);
    }
  }
}

TEST_P(QueueKeysTest, the_end_of_a_step_makes_room_for_the_next_of_its_key) {
  set({.name = "model", .key = "tag.customer", .key_concurrency = 1});
  std::vector<TestRun> runs = runs_of({"a", "a", "b"});
  const std::vector<HeldJob> held = claim_model(10);
  ASSERT_EQ(held.size(), 2u);
  EXPECT_TRUE(claim_model(10).empty());
  Entry entry = runs[0].entry();
  entry.fences.push_back(fence_of(held[0]));
  entry.jobs = {drop(1)};
  ASSERT_EQ(runs[0].commit(entry).kind, Kind::committed);
  ASSERT_EQ(claim_model(10).size(), 1u);
}

TEST_P(QueueKeysTest, each_key_has_a_rate_of_its_own_within_that_of_the_queue) {
  set({.name = "model",
       .rate = StartRate{1, an_hour_us, 5},
       .key = "tag.customer",
       .key_rate = StartRate{1, an_hour_us, 2}});
  runs_of({"a", "a", "a", "a", "b", "b", "b", "c", "c", "c"});
  EXPECT_EQ(counts(10), (Counts{{"a", 2}, {"b", 2}, {"c", 1}})) << "five in all";
}

TEST_P(QueueKeysTest, keys_take_turns_by_their_weights_whatever_one_of_them_floods) {
  set({.name = "model", .key = "tag.customer", .weights = {{"b", 2}}});
  runs_of({"a", "a", "a", "a", "a", "a", "b", "b", "b", "c"});
  EXPECT_EQ(order_of(10), "abbcabaaaa");
}

TEST_P(QueueKeysTest, a_claim_says_when_only_jobs_of_one_key_wait_and_each_job_has_its_key) {
  set({.name = "model", .key = "tag.customer"});
  runs_of({"a", "a", "a", "a", "b"});
  const auto claim = [this](std::int32_t most) {
    ClaimRequest request = claim_request(7, most, 0);
    request.queues = {"model"};
    return store().claim(request);
  };
  const ClaimedBatch first = claim(1);
  EXPECT_TRUE(first.no_one_waits.empty()) << "a and b wait";
  ASSERT_EQ(first.jobs.size(), 1u);
  EXPECT_EQ(first.jobs[0].key, "a");
  const ClaimedBatch second = claim(2);
  ASSERT_EQ(second.jobs.size(), 2u);
  EXPECT_EQ((std::set<std::string>{second.jobs[0].key, second.jobs[1].key}), (std::set<std::string>{"a", "b"}));
  ASSERT_EQ(second.no_one_waits.size(), 1u);
  EXPECT_EQ(second.no_one_waits[0].but_of, "a");
  EXPECT_FALSE(second.no_one_waits[0].for_turn);
  const ClaimedBatch last = claim(10);
  ASSERT_EQ(last.no_one_waits.size(), 1u);
  EXPECT_TRUE(last.no_one_waits[0].for_turn);
  EXPECT_EQ(last.no_one_waits[0].but_of, std::nullopt);
}

TEST_P(QueueKeysTest, whether_jobs_of_other_keys_wait_is_seen_without_a_claim) {
  set({.name = "model", .key = "tag.customer"});
  const auto others_wait = [this](const std::optional<std::string>& but_of, TimeUs now_us = noon) {
    return store().limits().others_wait("model", 0, but_of, now_us);
  };
  EXPECT_FALSE(others_wait({}));
  runs_of({"b", "b"});
  EXPECT_TRUE(others_wait({}));
  EXPECT_FALSE(others_wait("b"));
  EXPECT_TRUE(others_wait("a"));
  EXPECT_TRUE(others_wait("c"));
  EXPECT_FALSE(others_wait("a", noon - 1'000)) << "none is due";
  EXPECT_FALSE(store().limits().others_wait("other", 0, "a", noon));
  ASSERT_EQ(claim_model(10).size(), 2u);
  EXPECT_FALSE(others_wait("a")) << "they are held";
}

TEST_P(QueueKeysTest, held_jobs_take_starts_of_their_key_and_of_the_queue) {
  set({.name = "model",
       .rate = StartRate{1, an_hour_us, 6},
       .key = "tag.customer",
       .key_rate = StartRate{1, an_hour_us, 3}});
  runs_of({"a", "b", "b", "b"});
  ASSERT_EQ(claim_model(2).size(), 2u);
  const auto take = [this](const KeyCounts& asked) { return store().limits().take_starts("model", asked); };
  EXPECT_EQ(take({{"a", 5}}), (KeyCounts{{"a", 2}})) << "the claim took one of three";
  EXPECT_EQ(take({{"b", 5}, {"c", 5}}), (KeyCounts{{"b", 1}, {"c", 1}})) << "two were left in all, one for each";
  EXPECT_EQ(take({{"c", 1}}), KeyCounts{});
  set({.name = "model", .key = "tag.customer", .key_rate = StartRate{1, an_hour_us, 3}});
  EXPECT_EQ(take({{"b", 5}, {"c", 5}}), (KeyCounts{{"b", 1}, {"c", 2}}));
  EXPECT_TRUE(claim_model(10).empty()) << "what was taken is used up for claims as well";
}

TEST_P(QueueKeysTest, within_a_key_an_ageing_lets_what_has_waited_longer_go_first) {
  constexpr TimeUs ms = 1'000;
  const auto first_of_two = [this](TimeUs ageing_us) {
    set({.name = "model", .ageing_us = ageing_us, .key = "tag.customer"});
    started_ = -20 * ms;
    const std::vector<TestRun> old = runs_of({"a"}, 1);
    started_ = -15 * ms;
    const std::vector<TestRun> young = runs_of({"a"}, 0);
    const std::vector<HeldJob> held = claim_model(1);
    const bool is_old = held.size() == 1 && held[0].run == old[0].id();
    EXPECT_EQ(claim_model(5).size(), 1u);
    return is_old ? "old" : "young";
  };
  EXPECT_EQ(first_of_two(10 * ms), std::string("young")) << "it has waited 5 ms less, and has a priority better by one";
  EXPECT_EQ(first_of_two(1 * ms), std::string("old"));
  EXPECT_EQ(first_of_two(0), std::string("young"));
}

TEST_P(QueueKeysTest, within_a_key_claims_go_by_priority) {
  set({.name = "model", .key = "tag.customer"});
  const std::vector<TestRun> late = runs_of({"a"}, 5);
  const std::vector<TestRun> soon = runs_of({"a"}, 1);
  const std::vector<HeldJob> held = claim_model(1);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].run, soon[0].id());
}

TEST_P(QueueKeysTest, jobs_whose_runs_have_no_key_share_the_empty_one) {
  set({.name = "model", .key = "tag.customer", .key_concurrency = 1});
  runs_of({"", "", "a"});
  EXPECT_EQ(counts(10), (Counts{{"", 1}, {"a", 1}}));
}

TEST_P(QueueKeysTest, a_key_that_is_set_later_counts_what_waits_and_what_is_held) {
  runs_of({"a", "a", "a", "b"});
  ASSERT_EQ(claim_model(1).size(), 1u);
  set({.name = "model", .key = "tag.customer", .key_concurrency = 1});
  EXPECT_EQ(counts(10), (Counts{{"b", 1}})) << "the one of a is held already";
}

// Its permit had no key until another statement came by, and for ever if that failed.
TEST_P(QueueKeysTest, what_is_held_counts_for_its_key_although_the_keys_of_what_waits_are_not_found) {
  if (!is_one_server()) return;
  runs_of({"a", "a"});
  ASSERT_EQ(claim_model(1).size(), 1u);
  ask(dsn(),
      "create function public.no_keys() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$");
  ask(dsn(),
      "create trigger no_keys before update on cairn.job for each row "
      "when (old.limit_key is distinct from new.limit_key) execute function public.no_keys()");
  QueueLimits limits{.name = "model", .key = "tag.customer", .key_concurrency = 1};
  EXPECT_ANY_THROW((void)store().limits().change_limits({limits, "user:ann"}));
  EXPECT_EQ(ask_number(dsn(), "select count(*) from cairn.permit where key = 'a'"), 1);
  runs_of({"a", "b"});
  EXPECT_EQ(counts(10), (Counts{{"b", 1}})) << "one of a is held, and a look that fails hinders no claim";
  ask(dsn(), "drop trigger no_keys on cairn.job");
}

TEST_P(QueueKeysTest, a_queue_with_very_many_jobs_without_keys_is_claimed_from_within_a_few_calls) {
  if (!is_one_server()) return;
  set({.name = "model", .key = "tag.customer", .key_concurrency = 10});
  runs_of({"a"});
  ask(dsn(),
      "insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, epoch, deadline, timeout_ms, "
      "queue, offered) select 0, gen_random_uuid(), 1, 1, 1, 0, j.run_at, 1, j.deadline, 0, 'model', true "
      "from cairn.job j, generate_series(1, 5000)");
  ask(dsn(),
      "create function public.no_more() returns trigger language plpgsql as $$ begin "
      "if (select count(*) from changed) > 2000 then raise 'it takes too long'; end if; return null; end $$");
  ask(dsn(),
      "create trigger no_more after update on cairn.job referencing new table as changed for each statement "
      "execute function public.no_more()");
  std::map<std::string, int> claimed;
  for (int call = 0; call < 4; ++call)
    for (const HeldJob& job : claim_model(4)) ++claimed[customer_of_.contains(job.run) ? "a" : "of no run"];
  EXPECT_EQ(claimed, (std::map<std::string, int>{{"a", 1}, {"of no run", 10}}));
  EXPECT_EQ(ask_number(dsn(), "select count(*) from cairn.job where queue = 'model' and limit_key is null"), 0);
  ask(dsn(),
      "update cairn.job set limit_key = null where session is null and branch = 1 and run_id in "
      "(select run_id from cairn.job where session is null limit 1500)");
  set({.name = "model", .key = "tag.customer", .key_concurrency = 11});
  EXPECT_EQ(ask_number(dsn(), "select count(*) from cairn.job where queue = 'model' and limit_key is null"), 0)
      << "so does a change of the limits, in portions";
}

TEST_P(QueueKeysTest, what_is_given_back_is_found_by_its_key) {
  set({.name = "model", .key = "tag.customer", .key_concurrency = 1});
  runs_of({"a", "a"});
  const std::vector<HeldJob> held = claim_model(10);
  ASSERT_EQ(held.size(), 1u);
  const std::vector<std::pair<RunId, Fence>> holds{{held[0].run, fence_of(held[0])}};
  store().jobs().release(holds, noon);
  EXPECT_EQ(counts(10), (Counts{{"a", 1}}));
}

TEST_P(QueueKeysTest, a_claim_of_certain_runs_obeys_the_limits_of_keys) {
  set({.name = "model", .key = "tag.customer", .key_concurrency = 2});
  const std::vector<TestRun> runs = runs_of({"a", "a", "a", "b"});
  EXPECT_EQ(claim_model(10, {runs[0].id(), runs[1].id(), runs[2].id()}).size(), 2u);
  EXPECT_TRUE(claim_model(10, {runs[0].id(), runs[1].id(), runs[2].id()}).empty());
  EXPECT_EQ(counts(10), (Counts{{"b", 1}}));
}

TEST_P(QueueKeysTest, keys_that_are_none_and_weights_without_a_key_are_refused) {
  for (const QueueLimits& bad :
       std::vector<QueueLimits>{{.name = "model", .key = "customer"},
                                {.name = "model", .key = "tag."},
                                {.name = "model", .key = "/"},
                                {.name = "model", .key = "/a~2"},
                                {.name = "model", .key = "/" + std::string(300, 'a')},
                                {.name = "model", .key_concurrency = 2},
                                {.name = "model", .key_rate = StartRate{1, an_hour_us, 1}},
                                {.name = "model", .weights = {{"a", 2}}},
                                {.name = "model", .key = "tag.a", .key_concurrency = 0},
                                {.name = "model", .key = "tag.a", .key_rate = StartRate{0, 0, 0}},
                                {.name = "model", .key = "tag.a", .weights = {{"a", 0}}}}) {
    const Result<QueueLimits> refused = store().limits().change_limits({bad, "ada"});
    ASSERT_FALSE(refused) << bad.key;
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_EQ(refused.error().message.rfind("Expected ", 0), 0u);
  }
  EXPECT_TRUE(store().limits().queue_limits().empty());
}

INSTANTIATE_TEST_SUITE_P(Stores, QueueKeysTest, ::testing::ValuesIn(every_store()), name_of_store);

}  // namespace
}  // namespace cairn
