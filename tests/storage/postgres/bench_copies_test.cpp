// The runs that the benchmark has its server make.
#include <gtest/gtest.h>

#include "storage/postgres/store/postgres_store.hpp"
#include "tests/storage/test_database.hpp"
#include "tests/storage/test_runs.hpp"

namespace cairn {
namespace {

using namespace test;

// Run after run, each page would end in a gap as no worker leaves it, into which later runs' small events go.
TEST(BenchCopies, lie_as_workers_write_them_and_their_chains_are_whole) {
  const std::string dsn = new_database(1);
  const auto store = store_on(dsn);
  TestRun sample(*store);
  ASSERT_EQ(sample.commit(sample.entry(3)).kind, Verdict::Kind::committed);
  PgConnection connection({dsn, "test", false});
  connection.query(statement("bench_copy_runs"), PgParameters()
                                                     .add(to_string(sample.id()))
                                                     .add("01900000-0000-7000-8000-000000000000")
                                                     .add(std::int64_t{0})
                                                     .add(std::int64_t{599})
                                                     .add(true));
  EXPECT_EQ(ask_text(dsn,
                     "select string_agg(seq || '*' || n, ' ' order by place) from (select seq, count(*) n, min(ctid) "
                     "place from (select seq, ctid, row_number() over (order by ctid) - row_number() over "
                     "(partition by seq order by ctid) as lies from cairn.event where run_id <> '" +
                         to_string(sample.id()) + "') e group by seq, lies) beside"),
            "1*500 2*500 3*500 1*100 2*100 3*100");
  EXPECT_EQ(ask_text(dsn, "select tags::text from cairn.run where run_id::text like '%000002570000'"),
            R"({"team": "9", "batch": "0"})");
  for (const char* end : {"000000000000", "000002570000"}) {
    const std::optional<RunId> copy = parse_run_id(std::string("01900000-0000-7000-8000-") + end);
    ASSERT_TRUE(copy);
    EXPECT_EQ(chain_fault(*store, *copy), "");
  }
}

}  // namespace
}  // namespace cairn
