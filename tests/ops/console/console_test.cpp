// The console in Debian's Chromium, file by file: each *.test.mjs below this folder starts a database, a server and a
// browser of its own. Their packages are installed by ops/npm; their pictures are kept in build/console_tests/pictures.
#include <algorithm>
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

fs::path sources() { return fs::path(testing::source_dir()) / "tests/ops/console"; }
fs::path modules() { return fs::path(testing::source_dir()) / "build/console_tests/node_modules"; }

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
  const Ran ran = run_program("/usr/bin/env", {"CAIRN_PROGRAM=" + testing::cairn_program(), "node", "--test",
                                               "--test-reporter=spec", sources() / GetParam()});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Page, Console, ::testing::ValuesIn(browser_tests()),
                         [](const auto& file) { return name_of(file.param); });

// Types: of the sources, against what openapi-typescript makes of the API's description.
TEST(ConsoleSources, have_the_types_of_the_api) {
  const Ran ran = run_program("/bin/bash", {sources() / "types"});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
}

}  // namespace
}  // namespace cairn::program
