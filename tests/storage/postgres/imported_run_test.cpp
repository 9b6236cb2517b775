// The import of a run by a connection that is cut around its COMMIT.
#include <gtest/gtest.h>

#include "storage/postgres/store/postgres_store.hpp"
#include "storage/proof/run_records.hpp"
#include "tests/storage/postgres/cutting_proxy.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;

TEST(ImportedRun, whose_commit_was_not_answered_is_one_that_this_import_brought) {
  const std::string dsn = new_database(1);
  const Result<std::unique_ptr<Store>> store = open_postgres_store({.dsn = dsn});
  ASSERT_TRUE(store);
  CuttingProxy proxy(dsn);
  RunRecords records(proxy.dsn(), 1, 1);
  ImportOrigin origin;
  origin.at_us = noon;
  origin.by = "user:ann";
  for (const auto cut : {CuttingProxy::Cut::after_it_landed, CuttingProxy::Cut::before_it_arrives}) {
    const TestRun run(**store);
    const Entry entry = run.entry(3);
    Repair rows;
    rows.run = run.row;
    rows.run.head = 3;
    const int cuts = proxy.cuts();
    proxy.cut_next_commit(cut);
    EXPECT_TRUE(records.add(rows, entry.events, {}, origin)) << "its answer was lost";
    EXPECT_EQ(proxy.cuts(), cuts + 1);
    EXPECT_EQ((*store)->events(run.id(), 0, 10).size(), 3u);
    EXPECT_FALSE(records.add(rows, entry.events, {}, origin)) << "it was there before";
  }
}

}  // namespace
}  // namespace cairn
