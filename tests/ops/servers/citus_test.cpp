// The program on a Citus cluster. `ops/cluster test` starts the nodes and names the coordinator's database; without it
// there are no such tests.
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "storage/postgres/connection.hpp"
#include "storage/postgres/dsn.hpp"
#include "tests/ops/api_client.hpp"
#include "tests/ops/program.hpp"
#include "tests/ops/servers/command_walk.hpp"

namespace cairn::program {
namespace {

class CitusProgram : public ::testing::TestWithParam<std::string> {};
std::vector<std::string> citus_databases() {
  const char* const given = std::getenv("CAIRN_TEST_DSN");
  return given == nullptr ? std::vector<std::string>{} : std::vector<std::string>{given};
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CitusProgram);
INSTANTIATE_TEST_SUITE_P(Cluster, CitusProgram, ::testing::ValuesIn(citus_databases()),
                         [](const auto&) { return std::string("citus"); });

TEST_P(CitusProgram, every_kind_of_command_passes) {
  const Variable dsn("CAIRN_DSN", GetParam());
  walk_commands();
}

std::string found_by_doctor(const std::string& check) {
  const Json all = cairn({"doctor", "--json"}).json();
  for (const Json& one : all.at("checks"))
    if (one.at("name") == check) return one.at("found");
  return "";
}

// It looked at the node that the DSN names alone, where there are no rows of runs.
TEST_P(CitusProgram, the_doctor_sees_the_rows_and_the_snapshots_of_all_nodes) {
  const Variable dsn("CAIRN_DSN", GetParam());
  const std::string run =
      cairn_ok({"start", "plan_runner", "--json", "--input", R"({"goal": "g", "sub_goals": []})"}).json().at("run");
  PgConnection coordinator({GetParam(), "test", false});
  const PgResult nodes = coordinator.query(
      {"", "select nodename::text, nodeport::text from pg_dist_node where shouldhaveshards order by nodeport"});
  for (int row = 0; row < nodes.rows(); ++row) {
    const std::string host(nodes.text(row, 0));
    const std::string port(nodes.text(row, 1));
    PgConnection reader({with_host(GetParam(), host, port), "a report", false});
    reader.execute("begin isolation level repeatable read");
    reader.execute("select 1");
    PgConnection({with_host(GetParam(), host, port), "a writer", false}).execute("select txid_current()");
    const std::string oldest = found_by_doctor("oldest_snapshot");
    EXPECT_NE(oldest.find("transaction of a report (process "), std::string::npos) << oldest;
    EXPECT_NE(oldest.find(") on " + host + ":" + port + ","), std::string::npos) << oldest;
  }
  EXPECT_TRUE(wait_until([] { return found_by_doctor("bloat") != "job 0 dead of 0 rows; run 0 dead of 0 rows"; }));
  EXPECT_NE(found_by_doctor("bloat"), "");
  cairn_ok({"cancel", run});
}

}  // namespace
}  // namespace cairn::program
