// The conformance suite's fixture: a test that uses it runs on every implementation and setting of Store. Not
// thread-safe.
#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "tests/storage/pooler.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn::test {

struct StoreVariant {
  std::string name;
  bool memory = false;
  std::int32_t shards = 1;
  bool notify = true;
  bool prepared = true;
  bool citus = false;
  bool pooled = false;  // behind a pooler in transaction mode
};

void PrintTo(const StoreVariant& variant, std::ostream* out);

// Memory and PostgreSQL, with one shard and several, without notifications, without prepared statements; and the nodes
// of a Citus cluster where ops/cluster has started one.
std::vector<StoreVariant> every_store();
// And behind a pooler: for what commits, claims and locks.
std::vector<StoreVariant> every_store_and_pooled();
std::string name_of_store(const ::testing::TestParamInfo<StoreVariant>& variant);

// An empty store; its runs are on the last shard.
class StoreTest : public ::testing::TestWithParam<StoreVariant> {
 protected:
  void SetUp() override;

  Store& store() { return *store_; }
  const std::string& dsn() const { return dsn_; }  // of the server itself; "": in memory
  Shard last_shard() const { return GetParam().shards - 1; }
  std::vector<Verdict> commit(const std::vector<Entry>& batch) { return store_->commit(last_shard(), batch, {}); }
  TestRun new_run() { return TestRun(store(), last_shard()); }
  TestRun started_run(Job job = job_of(1, 1));
  std::vector<HeldJob> claim(SessionId session, std::int32_t limit = 10);
  HeldJob claim_one(SessionId session);
  HeldJob job(const TestRun& run, BranchId branch);
  // Removes a run that has ended, as an archive in `file` does.
  void archive(const TestRun& run, const std::string& file);

 private:
  std::string dsn_;  // "": in memory
  std::unique_ptr<PgBouncer> pooler_;
  std::unique_ptr<Store> store_;
};

}  // namespace cairn::test
