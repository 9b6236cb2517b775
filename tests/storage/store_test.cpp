#include "tests/storage/store_test.hpp"

#include <ostream>

#include "storage/chain.hpp"
#include "storage/memory/memory_store.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "storage/proof/run_archive.hpp"
#include "tests/storage/test_database.hpp"

namespace cairn::test {

void PrintTo(const StoreVariant& variant, std::ostream* out) { *out << variant.name; }

std::vector<StoreVariant> every_store() {
  std::vector<StoreVariant> all = {{"memory", true, 1},
                                   {"memory_4_shards", true, 4},
                                   {"postgres", false, 1},
                                   {"postgres_4_shards", false, 4},
                                   {"postgres_without_notify", false, 1, false},
                                   {"postgres_unprepared", false, 1, true, false}};
  if (has_citus_cluster()) all.push_back({"citus_4_shards", false, 4, true, true, true});
  return all;
}

std::vector<StoreVariant> every_store_and_pooled() {
  std::vector<StoreVariant> all = every_store();
  all.push_back({.name = "postgres_pooled", .shards = 4, .pooled = true});
  return all;
}

std::string name_of_store(const ::testing::TestParamInfo<StoreVariant>& variant) { return variant.param.name; }

void StoreTest::SetUp() {
  const StoreVariant& variant = GetParam();
  if (variant.memory) {
    store_ = make_memory_store(variant.shards, [] { return noon; });
    return;
  }
  PostgresOptions options;
  options.dsn = dsn_ = variant.citus ? new_distributed_database(variant.shards) : new_database(variant.shards);
  if (variant.pooled) {
    pooler_ = std::make_unique<PgBouncer>(dsn_, scratch_directory());
    options.dsn = pooler_->dsn();
  }
  options.notify = variant.notify;
  options.prepared = variant.prepared;
  Result<std::unique_ptr<Store>> opened = open_postgres_store(options);
  ASSERT_TRUE(opened) << opened.error().message;
  store_ = std::move(*opened);
}

TestRun StoreTest::started_run(Job job) {
  TestRun run = new_run();
  EXPECT_EQ(run.start(std::move(job)).kind, Verdict::Kind::committed);
  return run;
}

std::vector<HeldJob> StoreTest::claim(SessionId session, std::int32_t limit) {
  return store_->claim(claim_request(session, limit, last_shard())).jobs;
}

HeldJob StoreTest::claim_one(SessionId session) {
  const std::vector<HeldJob> jobs = claim(session, 1);
  EXPECT_EQ(jobs.size(), 1u);
  return jobs.empty() ? HeldJob{} : jobs[0];
}

void StoreTest::archive(const TestRun& run, const std::string& file) {
  if (GetParam().memory) return archive_in_memory(store(), run.id(), file, sha256(file));
  Tombstone tombstone;
  tombstone.shard = last_shard();
  tombstone.head = {run.id(), run.head, run.chain_hash};
  tombstone.file_digest = sha256(file);
  tombstone.at_us = noon;
  tombstone.file = file;
  const Result<std::int64_t> removed = RunArchive(dsn_).remove(last_shard(), {&tombstone, 1});
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(*removed, 1);
}

HeldJob StoreTest::job(const TestRun& run, BranchId branch) {
  for (const HeldJob& job : store_->jobs().of(run.id())) {
    if (job.job.branch == branch) return job;
  }
  return {};
}

}  // namespace cairn::test
