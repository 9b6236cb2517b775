// page_agent on pages that judge themselves: pages of the shape of real sites, and a folder of pages that others wrote.
#include "tests/workers/tools/page_trial.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>

#include "tests/paths.hpp"
#include "workers/ports/secrets.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using test::PageTrial;
using test::PageVerdict;

const fs::path own_pages = fs::path(testing::source_dir()) / "tests/workers/tools/pages";
const fs::path plans = fs::path(testing::source_dir()) / "tests/workers/tools/plans";

Json read_plans(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const Result<Json> read = parse_json(std::string(std::istreambuf_iterator<char>(file), {}), "the plans");
  if (!read || !read->is_object() || !read->value("tasks", Json()).is_array())
    throw std::runtime_error("Expected {\"tasks\": [...]} in " + path.string() + ".");
  return (*read)["tasks"];
}

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Runs each task whose name has the text of CAIRN_TEST_PAGE_TASK, if that is set, and prints each verdict.
void expect_verdicts(PageTrial& trial, const Json& tasks) {
  const std::string only = from_environment("CAIRN_TEST_PAGE_TASK");
  for (const Json& task : tasks) {
    const std::string name = task.at("name");
    if (name.find(only) == std::string::npos) continue;
    const PageVerdict judged = trial.run(task);
    const std::string wanted = canonical(task.value("verdict", Json(1)));
    std::cout << "[ verdict  ] " << name << ": " << judged.value.value_or("none") << std::endl;
    EXPECT_EQ(judged.value.value_or("none"), wanted)
        << name << ": " << judged.reason << "\n" << judged.page.value("fault", Json()) << "\n"
        << judged.page.value("dom", "");
    if (!only.empty()) std::cout << judged.page.value("dom", "") << std::endl;
  }
}

PageToolOptions with_files() {
  PageToolOptions options;
  options.uploads = own_pages.string();
  return options;
}

TEST(PageTrials, pages_of_the_shape_of_real_sites_judge_themselves) {
  PageTrial trial(own_pages, 0, with_files());
  expect_verdicts(trial, read_plans(plans / "own_pages.json"));
}

// Such pages are not part of this project. CAIRN_TEST_PAGES is their folder, CAIRN_TEST_PAGE_PLANS the file of their
// plans (page_trial.hpp says its form), CAIRN_TEST_PAGE_MS a limit of time in place of their own.
TEST(PageTrials, pages_that_others_wrote_judge_themselves) {
  const std::string folder = from_environment("CAIRN_TEST_PAGES");
  if (folder.empty()) GTEST_SKIP() << "CAIRN_TEST_PAGES names no folder of pages.";
  const std::string file = from_environment("CAIRN_TEST_PAGE_PLANS");
  const std::string limit = from_environment("CAIRN_TEST_PAGE_MS");
  PageTrial trial(folder, limit.empty() ? 0 : std::stoll(limit));
  expect_verdicts(trial, read_plans(file.empty() ? plans / "miniwob.json" : fs::path(file)));
}

}  // namespace
}  // namespace cairn
