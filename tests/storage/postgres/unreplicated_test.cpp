// Commits whose wait for a synchronous standby an operator cancels: the server then says that all went well.
#include <future>
#include <gtest/gtest.h>
#include <set>

#include "storage/migration/migrator.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "storage/server/cluster.hpp"
#include "storage/starts/start_book.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"
#include "tests/waiting.hpp"

namespace cairn::test {
namespace {

// A server of its own, since it is set for all of its databases.
class Unreplicated : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<Cluster> cluster = start_cluster(directory_);
    ASSERT_TRUE(cluster) << cluster.error().message;
    owner_ = cluster->owner_dsn;
    ASSERT_TRUE(migrate(owner_, 1));
    PostgresOptions options;
    options.dsn = owner_;
    options.patience_ms = 60'000;
    Result<std::unique_ptr<Store>> store = open_postgres_store(options);
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
  }
  void TearDown() override {
    expect_standbys("");
    store_.reset();
    EXPECT_TRUE(stop_cluster(directory_));
  }

  void expect_standbys(const std::string& names) {
    ask(owner_, "alter system set synchronous_standby_names = '" + names + "'");
    ask(owner_, "select pg_reload_conf()");
    EXPECT_TRUE(
        wait_until([&] { return ask_text(owner_, "select current_setting('synchronous_standby_names')") == names; }));
  }

  // The process that waits for a standby; -1: none but those that were cancelled.
  std::int64_t waiting_process() {
    const PgResult rows = ask(owner_, "select pid::bigint from pg_stat_activity where wait_event = 'SyncRep'");
    for (int row = 0; row < rows.rows(); ++row)
      if (const std::int64_t pid = rows.int8(row, 0); !cancelled_.contains(pid)) return pid;
    return -1;
  }

  // Each attempt waits for a standby that is not there, until it is cancelled.
  void cancel_waits(int count) {
    for (int n = 0; n < count; ++n) {
      std::int64_t pid = -1;
      ASSERT_TRUE(wait_until([&] { return (pid = waiting_process()) != -1; }))
          << "attempt " << n + 1 << " does not wait";
      cancelled_.insert(pid);
      ask(owner_, "select pg_cancel_backend(" + std::to_string(pid) + ")");
    }
    ASSERT_TRUE(wait_until([&] { return waiting_process() != -1; })) << "none waits after " << count;
  }

  // `write` is under way until the standbys are none any more.
  void expect_doubt(const std::function<void(Store&)>& write) {
    expect_standbys("nowhere");
    std::future<void> written = std::async(std::launch::async, [&] { write(*store_); });
    cancel_waits(2);
    EXPECT_EQ(written.wait_for(std::chrono::seconds(0)), std::future_status::timeout) << "it was acknowledged";
    expect_standbys("");
    written.get();
  }

  const std::string directory_ = scratch_directory() + "/unreplicated";
  std::string owner_;
  std::unique_ptr<Store> store_;
  std::set<std::int64_t> cancelled_;
};

TEST_F(Unreplicated, a_commit_is_acknowledged_once_the_standbys_have_it) {
  TestRun run(*store_);
  expect_doubt([&](Store&) { EXPECT_EQ(run.start(job_of(1, 1)).kind, Verdict::Kind::committed); });
  EXPECT_EQ(ask_number(owner_, "select count(*) from cairn.event"), 1) << "it is there once";
  EXPECT_EQ(chain_fault(*store_, run.id()), "");
  expect_doubt([&](Store&) { EXPECT_EQ(run.commit(run.entry()).kind, Verdict::Kind::committed); });
  EXPECT_EQ(ask_number(owner_, "select count(*) from cairn.event"), 2);
}

TEST_F(Unreplicated, a_start_that_waits_and_a_checkpoint_are_acknowledged_once_the_standbys_have_them) {
  expect_doubt([](Store& store) {
    store.starts().decide_named({{"g", "k"}}, [](TimeUs, const auto&) { return std::vector<StartKeyWrite>(); });
  });
  EXPECT_EQ(ask_number(owner_, "select count(*) from cairn.start_key"), 1);
  expect_doubt([](Store& store) { store.put_checkpoint({.process = 1, .n = 1, .heads = "", .signature = "s"}); });
  EXPECT_EQ(ask_number(owner_, "select count(*) from cairn.checkpoint"), 1);
}

}  // namespace
}  // namespace cairn::test
