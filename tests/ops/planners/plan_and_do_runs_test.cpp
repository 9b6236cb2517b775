// The page on plan_and_do, taken at its word: its example is run as it stands there, without a model.
#include <gtest/gtest.h>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

std::string block_of_page(const std::string& mark) {
  const std::string page =
      read_file(std::filesystem::path(testing::source_dir()) / "workers/planners/plan_and_do/README.md");
  const std::size_t at = page.find(mark) + mark.size();
  return page.substr(at, page.find("```", at) - at);
}

TEST(PlanAndDo, the_example_of_the_page_runs_as_it_stands_there) {
  const std::string program = "cairn() { " + testing::cairn_program() + " \"$@\"; }\ncd " + directory().string() + "\n";
  const Ran ran = run_program("/bin/sh", {write_file("example.sh", program + block_of_page("```sh\n"))});
  ASSERT_EQ(ran.exit, 0) << ran.err;
  const std::string said = block_of_page("```text\n");
  EXPECT_EQ(ran.out.find(said.substr(0, said.find("..."))), 0U) << ran.out;
  for (const char* line : {"1.1!1  succeeded  count_words", "2  failed  Publish", "2.1  succeeded", "2.2  failed"})
    EXPECT_NE(ran.out.find(line), std::string::npos) << line << "\n" << ran.out;
  const Json ended = Json::parse(read_file(directory() / "ended.json"));
  EXPECT_EQ(ended["status"], "failed");
  EXPECT_EQ(ended["output"]["outcome"], "partial");
  EXPECT_EQ(ended["output"]["failed"], (Json{"2.2"}));
  EXPECT_EQ(ended["output"]["tasks"].size(), 4U);
}

}  // namespace
}  // namespace cairn::program
