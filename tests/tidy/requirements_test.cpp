// tests/requirements.md keeps its word: every item says what its tests must show and has at least one, every test that
// names an item names one of the list, and the numbers of a part rise.
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.hpp"
#include "tests/tidy/named_tests.hpp"

namespace cairn::testing {
namespace {

using Sentences = std::vector<std::string>;

// "Suite.S3_12_and_S3_13_the_rest" names S3.12 and S3.13.
std::set<std::string> items_named_by(const std::string& test) {
  static const std::regex item("(?:^|[._])(S[0-9]|X)_([0-9]+)(?=_|$)");
  std::set<std::string> items;
  for (std::sregex_iterator found(test.begin(), test.end(), item), end; found != end; ++found)
    items.insert((*found)[1].str() + "." + std::to_string(std::stoi((*found)[2])));
  return items;
}

// The faults of the list, one sentence each.
Sentences requirement_faults(const Sentences& list, const std::set<std::string>& tests) {
  static const std::regex row(R"(^\| ((?:S\d|X)\.(\d+)) \| (.+?) \| (.*?)\s*\|$)");
  std::set<std::string> proved;
  for (const std::string& test : tests) proved.merge(items_named_by(test));
  Sentences faults;
  std::set<std::string> listed;
  std::map<std::string, int> last;  // number by part
  for (const std::string& line : list) {
    if (!line.starts_with("| S") && !line.starts_with("| X")) continue;
    std::smatch found;
    if (!std::regex_match(line, found, row)) {
      faults.push_back("Expected an item, its behaviour and what its test shows, but found: " + line);
      continue;
    }
    const std::string item = found[1];
    int& before = last[item.substr(0, item.find('.'))];
    if (std::stoi(found[2]) <= before) faults.push_back(item + " stands after a higher number");
    before = std::stoi(found[2]);
    listed.insert(item);
    if (found[4].str().empty()) faults.push_back(item + " does not say what its test shows");
    if (!proved.contains(item)) faults.push_back(item + " has no test");
  }
  for (const std::string& item : proved)
    if (!listed.contains(item)) faults.push_back("A test names " + item + ", which is not in the list");
  return faults;
}

TEST(Requirements, every_item_says_what_its_test_shows_and_has_one) {
  const Sentences list = lines_of(source_dir() + "/tests/requirements.md");
  ASSERT_GT(list.size(), 200u);
  for (const std::string& fault : requirement_faults(list, test_names())) ADD_FAILURE() << fault;
}

TEST(Requirements, the_page_of_the_planners_organs_names_tests_that_there_are) {
  static const std::regex named("`([A-Z]\\w+\\.\\w+)`");
  const std::set<std::string> tests = test_names();
  std::size_t count = 0;
  for (const std::string& line : lines_of(source_dir() + "/workers/planners/ORGANS.md"))
    for (std::sregex_iterator found(line.begin(), line.end(), named), end; found != end; ++found, ++count)
      EXPECT_TRUE(tests.contains((*found)[1].str())) << (*found)[1].str();
  EXPECT_GT(count, 40U);
}

TEST(Requirements, what_the_list_of_items_lacks_is_reported) {
  const std::set<std::string> tests{"Suite.S0_1_it_works", "Suite.it_does_X_02_too", "Suite.S0_1x_is_no_item"};
  const std::string one = "| S0.1 | It works | It is seen to. |";
  const std::string two = "| X.2 | A \\| B | Both are seen. |";
  EXPECT_EQ(requirement_faults({"| Item | Behaviour | Shows |", "|---|---|---|", one, two}, tests), Sentences{});
  EXPECT_EQ(requirement_faults({one}, tests), Sentences{"A test names X.2, which is not in the list"});
  EXPECT_EQ(requirement_faults({one, two, "| X.3 | C | Seen. |"}, tests), Sentences{"X.3 has no test"});
  EXPECT_EQ(requirement_faults({"| S0.1 | It works |  |", two}, tests),
            Sentences{"S0.1 does not say what its test shows"});
  EXPECT_EQ(requirement_faults({one, two, one}, tests), Sentences{"S0.1 stands after a higher number"});
  EXPECT_EQ(requirement_faults({one, two, "| S0.2 | No third cell |"}, tests).size(), 1u);
}

}  // namespace
}  // namespace cairn::testing
