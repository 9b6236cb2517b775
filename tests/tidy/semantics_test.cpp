// tests/semantics.md keeps its word: every test it names exists, every sentence has one, and the numbers have no gap.
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.hpp"
#include "tests/tidy/named_tests.hpp"

namespace cairn::testing {
namespace {

using Lines = std::vector<std::string>;

// The faults of the list, one sentence each.
Lines semantics_faults(const Lines& list, const std::set<std::string>& tests) {
  static const std::regex sentence(R"re(^\*\*S4\.(\d+)\*\* ".+"$)re");
  static const std::regex named(R"(^- `(\w+\.\w+)`$)");
  Lines faults;
  int number = 0;
  int count = 1;
  for (const std::string& line : list) {
    std::smatch found;
    if (line.starts_with("**S4.")) {
      if (count == 0) faults.push_back("S4." + std::to_string(number) + " has no test");
      count = 0;
      ++number;
      if (!std::regex_match(line, found, sentence) || std::stoi(found[1]) != number)
        faults.push_back("Expected sentence S4." + std::to_string(number) + " in quotes, but found: " + line);
    } else if (std::regex_match(line, found, named)) {
      ++count;
      if (!tests.contains(found[1])) faults.push_back("There is no test " + found[1].str());
    } else if (number > 0 && !line.empty() && !line.starts_with("## ")) {
      faults.push_back("Expected a sentence, a test or a heading, but found: " + line);
    }
  }
  if (count == 0) faults.push_back("S4." + std::to_string(number) + " has no test");
  return faults;
}

TEST(Semantics, every_sentence_names_tests_that_exist) {
  const Lines list = lines_of(source_dir() + "/tests/semantics.md");
  ASSERT_GT(list.size(), 60u);
  for (const std::string& fault : semantics_faults(list, test_names())) ADD_FAILURE() << fault;
}

TEST(Semantics, what_the_list_lacks_is_told) {
  const std::set<std::string> tests{"Suite.there"};
  EXPECT_EQ(semantics_faults({"# Title", "", "## Part", "**S4.1** \"A sentence.\"", "- `Suite.there`"}, tests),
            Lines{});
  EXPECT_EQ(semantics_faults({"**S4.1** \"A sentence.\"", "- `Suite.gone`"}, tests),
            Lines{"There is no test Suite.gone"});
  EXPECT_EQ(semantics_faults({"**S4.1** \"A.\"", "**S4.2** \"B.\"", "- `Suite.there`"}, tests),
            Lines{"S4.1 has no test"});
  EXPECT_EQ(semantics_faults({"**S4.1** \"A.\""}, tests), Lines{"S4.1 has no test"});
  EXPECT_EQ(semantics_faults({"**S4.2** \"A.\"", "- `Suite.there`"}, tests).size(), 1u);
  EXPECT_EQ(semantics_faults({"**S4.1** \"A.\"", "- Suite.there"}, tests).size(), 2u);
}

}  // namespace
}  // namespace cairn::testing
