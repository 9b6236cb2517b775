// The console in Debian's Chromium, file by file: each *.test.mjs below this folder starts a database, a server and a
// browser of its own. Their packages are installed by ops/npm; their pictures are kept in build/console_tests/pictures,
// what came of each test in build/console_tests/report, as JUnit has it.
#include <algorithm>
#include <gtest/gtest.h>

#include "ops/http/console/console_files.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

fs::path sources() { return fs::path(testing::source_dir()) / "tests/ops/console"; }
fs::path made() { return fs::path(testing::source_dir()) / "build/console_tests"; }
fs::path modules() { return made() / "node_modules"; }

// "hooks.test.mjs", "looks/dialogs.test.mjs".
std::vector<std::string> browser_tests() {
  std::vector<std::string> paths;
  for (const auto& file : fs::recursive_directory_iterator(sources()))
    if (file.path().string().ends_with(".test.mjs")) paths.push_back(file.path().lexically_relative(sources()));
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Names of files: no two folders have one of the same name.
std::string name_of(const std::string& path) {
  const std::string file = fs::path(path).filename();
  return file.substr(0, file.find('.'));
}

class Console : public ::testing::TestWithParam<std::string> {};

TEST_P(Console, in_a_browser) {
  ASSERT_TRUE(fs::is_directory(modules()))
      << "Expected playwright-core in " << modules() << ", where ops/npm installs it.";
  fs::create_directories(made() / "report");
  const std::string report = made() / "report" / (name_of(GetParam()) + ".xml");
  const Ran ran = run_program("/usr/bin/env",
                              {"CAIRN_PROGRAM=" + testing::cairn_program(), "node", "--test", "--test-reporter=spec",
                               "--test-reporter-destination=stdout", "--test-reporter=junit",
                               "--test-reporter-destination=" + report, sources() / GetParam()});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Page, Console, ::testing::ValuesIn(browser_tests()),
                         [](const auto& file) { return name_of(file.param); });

// Types: of the sources, against what openapi-typescript makes of the API's description.
TEST(ConsoleSources, have_the_types_of_the_api) {
  const Ran ran = run_program("/bin/bash", {sources() / "types"});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

TEST(ConsoleBuild, without_npm_the_program_is_built_without_its_console_and_has_a_page_that_says_how) {
  const fs::path tools = directory() / "tools_without_npm", out = directory() / "console_without_npm";
  fs::create_directories(tools);
  for (const char* tool : {"cat", "dirname", "mkdir", "rm"})
    fs::create_symlink(fs::path("/usr/bin") / tool, tools / tool);
  const Ran ran = run_program("/usr/bin/env", {"-i", "PATH=" + tools.string(), "/bin/bash",
                                               fs::path(testing::source_dir()) / "ops/console/build", out});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_NE(ran.err.find("Expected npm and its registry, but one is not there"), std::string::npos) << ran.err;
  EXPECT_NE(read_file(out / "console_files.cpp").find("console_files() { return {}; }"), std::string::npos);
  ASSERT_EQ(console_missing().size(), 1U);
  EXPECT_EQ(console_missing()[0].name, "index.html");
  const std::string_view page = console_missing()[0].plain;
  EXPECT_NE(page.find("npm was not there, or could not reach its registry"), std::string_view::npos);
  EXPECT_NE(page.find("apt install nodejs npm"), std::string_view::npos);
}

}  // namespace
}  // namespace cairn::program
