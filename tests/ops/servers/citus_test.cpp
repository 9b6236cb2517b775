// The program on a Citus cluster. `ops/cluster test` starts the nodes and names the coordinator's database; without it
// there are no such tests.
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/ops/api_client.hpp"
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

}  // namespace
}  // namespace cairn::program
