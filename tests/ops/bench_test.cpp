// The benchmark does what it says; how fast is not tested.
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"

namespace cairn::program {
namespace {

TEST(Bench, the_steps_case_says_what_it_measured_beside_its_limit) {
  const Json line = cairn_ok({"bench", "--case", "steps", "--runs", "300", "--workers", "2", "--json"}).json();
  EXPECT_EQ(line["case"], "steps");
  EXPECT_EQ(line["unit"], "steps/s");
  EXPECT_EQ(line["runs"], 300);
  EXPECT_EQ(line["steps"], 3000);
  EXPECT_EQ(line["workers"], 2);
  for (const char* measure : {"value", "limit", "ratio", "client_cpu_us_per_step", "server_cpu_us_per_step",
                              "wal_bytes_per_step", "commits_per_step"})
    EXPECT_GT(line[measure].get<double>(), 0) << measure;
  EXPECT_EQ(line["fsync"], "on");
  EXPECT_EQ(line["synchronous_commit"], "on");
}

TEST(Bench, the_latency_case_says_how_long_one_run_takes) {
  const Json line = cairn_ok({"bench", "--case", "latency", "--runs", "20", "--json"}).json();
  EXPECT_EQ(line["case"], "latency");
  EXPECT_EQ(line["runs"], 20);
  for (const char* measure : {"value", "limit", "ratio", "p50_ms", "p99_ms", "start_p50_ms", "start_p99_ms"})
    EXPECT_GT(line[measure].get<double>(), 0) << measure;
  EXPECT_LE(line["p50_ms"], line["p99_ms"]);
}

TEST(Bench, its_databases_are_gone_afterwards_and_the_runs_untouched) {
  const std::size_t before = cairn_ok({"runs", "--limit", "100000", "--json"}).lines().size();
  cairn_ok({"bench", "--runs", "3", "--workers", "1", "--json"});
  EXPECT_EQ(cairn_ok({"runs", "--limit", "100000", "--json"}).lines().size(), before);
  expect_refused(cairn({"bench", "--case", "nothing"}), 2, "nothing");
}

}  // namespace
}  // namespace cairn::program
