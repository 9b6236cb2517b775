// The store behind a pooler in transaction mode, where a statement may meet another connection of the server than the
// one before it.
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

#include "storage/clock.hpp"
#include "storage/postgres/postgres_store.hpp"
#include "tests/storage/postgres/transaction_pooler.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn::test {
namespace {

constexpr int threads_count = 4;
constexpr int runs_each = 15;

std::unique_ptr<Store> open_with(const std::string& dsn) {
  PostgresOptions options;
  options.dsn = dsn;
  Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  if (!store) throw std::runtime_error(store.error().message);
  return *std::move(store);
}

// The word of CAIRN_POOLER, as long as it lives.
class PoolerSaid {
 public:
  explicit PoolerSaid(const char* word) { setenv("CAIRN_POOLER", word, 1); }
  ~PoolerSaid() { unsetenv("CAIRN_POOLER"); }
  PoolerSaid(const PoolerSaid&) = delete;
  PoolerSaid& operator=(const PoolerSaid&) = delete;
};

// A run from its start to its end: committed, claimed, kept, ended.
void live_a_run(Store& store, SessionId session) {
  TestRun run(store);
  ASSERT_EQ(run.start(job_of(1, 1)).kind, Verdict::Kind::committed);
  ClaimRequest request = claim_request(session, 1);
  request.only_runs = {run.id()};
  const ClaimedBatch claimed = store.claim(request);
  ASSERT_EQ(claimed.jobs.size(), 1u);
  Entry ending = run.entry();
  ending.fences = {fence_of(claimed.jobs[0])};
  ending.jobs = {drop(1)};
  ending.run.status = RunStatus::done;
  ASSERT_EQ(run.commit(ending).kind, Verdict::Kind::committed);
  EXPECT_EQ(chain_fault(store, run.id()), "");
}

std::string setting(const std::string& dsn, const std::string& name) {
  PgConnection connection({dsn, "another client"});
  const auto shown = connection.ask("show " + name, steady_us() + 10'000'000);
  return std::string(shown.value().text(0, 0));
}

void live_many_runs(const std::string& dsn) {
  const auto store = open_with(dsn);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < threads_count; ++thread)
    threads.emplace_back([&store, thread] {
      for (int n = 0; n < runs_each; ++n) live_a_run(*store, thread + 1);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->runs({}).size(), static_cast<std::size_t>(threads_count * runs_each));
  store->queues();
  store->notify();
  EXPECT_TRUE(store->await_notification(1)) << "within this process";
}

TEST(TransactionPooler, D11_is_found_out_and_commits_and_claims_pass_behind_it) {
  const TransactionPooler pooler(new_database(1), scratch_directory());
  live_many_runs(pooler.dsn());
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(setting(pooler.dsn(), "enable_seqscan"), "on") << "a setting reached another client";
    EXPECT_EQ(setting(pooler.dsn(), "plan_cache_mode"), "auto");
  }
}

TEST(TransactionPooler, D11_may_be_named_instead_of_being_found_out) {
  const PoolerSaid transaction("transaction");
  const TransactionPooler pooler(new_database(1), scratch_directory());
  live_many_runs(pooler.dsn());
}

TEST(TransactionPooler, D11_taken_for_one_that_keeps_connections_is_named_in_the_refusal) {
  const TransactionPooler pooler(new_database(1), scratch_directory());
  const PoolerSaid session("session");
  const auto one = open_with(pooler.dsn());
  const auto other = open_with(pooler.dsn());
  try {
    for (int n = 0; n < 20; ++n) {
      one->graphs();
      other->graphs();
    }
    ADD_FAILURE() << "no prepared statement met another one";
  } catch (const StoreUnavailable& refused) {
    EXPECT_NE(std::string(refused.what()).find("CAIRN_POOLER=transaction"), std::string::npos) << refused.what();
  }
}

TEST(TransactionPooler, another_word_is_refused) {
  PostgresOptions options;
  options.dsn = new_database(1);
  const PoolerSaid nonsense("yes");
  const Result<std::unique_ptr<Store>> store = open_postgres_store(options);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::invalid);
}

TEST(TransactionPooler, a_server_without_one_is_spoken_to_directly) {
  const std::string dsn = new_database(1);
  EXPECT_FALSE(PgConnection({dsn}).is_pooled());
  const TransactionPooler pooler(dsn, scratch_directory());
  EXPECT_TRUE(PgConnection({pooler.dsn()}).is_pooled());
}

}  // namespace
}  // namespace cairn::test
