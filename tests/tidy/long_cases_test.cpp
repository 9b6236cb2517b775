// tests/long_cases.txt keeps its word: each pattern names tests that exist, one line each, in order.
#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.hpp"
#include "tests/tidy/named_tests.hpp"

namespace cairn::testing {
namespace {

using Lines = std::vector<std::string>;

// "Prefix/Suite.name/parameter" without prefix and parameter, as the sources have it; a pattern keeps its '*'.
std::string in_the_sources(const std::string& pattern) {
  const std::size_t point = pattern.find('.');
  const std::string suite = pattern.substr(0, point);
  const std::string name = pattern.substr(point + 1);
  const std::size_t prefix = suite.find('/');
  return (prefix == std::string::npos ? suite : suite.substr(prefix + 1)) + "." + name.substr(0, name.find('/'));
}

bool is_there(const std::string& pattern, const std::set<std::string>& tests) {
  const std::string test = in_the_sources(pattern);
  if (!test.ends_with('*')) return tests.contains(test);
  const std::string start = test.substr(0, test.size() - 1);
  const auto first = tests.lower_bound(start);
  return first != tests.end() && first->starts_with(start);
}

// The faults of the list, one sentence each.
Lines long_case_faults(const Lines& list, const std::set<std::string>& tests) {
  Lines faults;
  std::string last;
  for (const std::string& line : list) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.find('.') == std::string::npos || line.find_first_of(" :-?") != std::string::npos)
      faults.push_back("Expected one pattern 'Suite.case', but found: " + line);
    else if (!is_there(line, tests))
      faults.push_back("There is no test " + line);
    if (line <= last) faults.push_back("Expected this line further up: " + line);
    last = line;
  }
  return faults;
}

TEST(LongCases, each_of_them_exists) {
  const Lines list = lines_of(source_dir() + "/tests/long_cases.txt");
  EXPECT_GT(list.size(), 50U);
  for (const std::string& fault : long_case_faults(list, test_names())) ADD_FAILURE() << fault;
}

TEST(LongCases, what_is_gone_unsorted_or_no_pattern_is_reported) {
  const std::set<std::string> tests{"Suite.there", "Suite.third"};
  EXPECT_EQ(long_case_faults({"# a comment", "Each/Suite.there/*", "Suite.*", "Suite.third"}, tests), Lines{});
  EXPECT_EQ(long_case_faults({"Suite.gone"}, tests), Lines{"There is no test Suite.gone"});
  EXPECT_EQ(long_case_faults({"Gone.*"}, tests), Lines{"There is no test Gone.*"});
  EXPECT_EQ(long_case_faults({"Suite.third", "Suite.there"}, tests),
            Lines{"Expected this line further up: Suite.there"});
  EXPECT_EQ(long_case_faults({"Suite.there Suite.third"}, tests).size(), 1U);
  EXPECT_EQ(long_case_faults({"*"}, tests).size(), 1U);
}

}  // namespace
}  // namespace cairn::testing
