// tests/frictions.md keeps its word: F1 to F30 in order, each with tests that exist, with the reason why it is open, or
// with what is so on purpose and the decision that says why.
#include <filesystem>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.hpp"
#include "tests/tidy/named_tests.hpp"

namespace cairn::testing {
namespace {

using Texts = std::vector<std::string>;

// The numbers of the decisions, as their files begin.
std::set<std::string> decisions() {
  std::set<std::string> numbers;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source_dir()) / "ops/decisions"))
    numbers.insert(entry.path().filename().string().substr(0, 4));
  return numbers;
}

// The faults of the list, one sentence each; `count` lines are expected.
Texts friction_faults(const Texts& list, const std::set<std::string>& tests, int count,
                      const std::set<std::string>& decided = {}) {
  static const std::regex row(R"(^\| F(\d+) \| [^|]+ \| (`\w+\.\w+`(?: `\w+\.\w+`)*)?)"
                              R"(( ?(?:open: [^|]+|on purpose: [^|]+ \(decision (\d{4})\)))? \|$)");
  static const std::regex named(R"(`(\w+\.\w+)`)");
  Texts faults;
  int number = 0;
  for (const std::string& line : list) {
    if (!line.starts_with("| F")) continue;
    std::smatch found;
    ++number;
    if (!std::regex_match(line, found, row) || std::stoi(found[1]) != number ||
        (found[2].length() == 0 && found[3].length() == 0)) {
      faults.push_back("Expected F" + std::to_string(number) + " with tests or what is open, but found: " + line);
      continue;
    }
    const std::string held = found[2];
    for (std::sregex_iterator test(held.begin(), held.end(), named), end; test != end; ++test)
      if (!tests.contains((*test)[1])) faults.push_back("There is no test " + (*test)[1].str());
    if (found[4].length() > 0 && !decided.contains(found[4]))
      faults.push_back("There is no decision " + found[4].str());
  }
  if (number != count)
    faults.push_back("Expected " + std::to_string(count) + " lines, but found " + std::to_string(number));
  return faults;
}

TEST(Frictions, each_of_the_thirty_names_tests_that_exist_or_is_open_or_decided) {
  const Texts list = lines_of(source_dir() + "/tests/frictions.md");
  for (const std::string& fault : friction_faults(list, test_names(), 30, decisions())) ADD_FAILURE() << fault;
}

TEST(Frictions, what_the_list_lacks_is_reported) {
  const std::set<std::string> tests{"Suite.there"};
  EXPECT_EQ(friction_faults({"| F1 | a | `Suite.there` `Suite.there` |", "| F2 | b | open: later |"}, tests, 2),
            Texts{});
  EXPECT_EQ(friction_faults({"| F1 | a | `Suite.there` open: the rest |"}, tests, 1), Texts{});
  EXPECT_EQ(friction_faults({"| F1 | a | `Suite.gone` |"}, tests, 1), Texts{"There is no test Suite.gone"});
  const Texts decided{"| F1 | a | `Suite.there` on purpose: it is safer so (decision 0007) |"};
  EXPECT_EQ(friction_faults(decided, tests, 1, {"0007"}), Texts{});
  EXPECT_EQ(friction_faults(decided, tests, 1, {"0008"}), Texts{"There is no decision 0007"});
  EXPECT_EQ(friction_faults({"| F1 | a | on purpose: it is safer so |"}, tests, 1).size(), 1u);
  EXPECT_EQ(friction_faults({"| F1 | a |  |"}, tests, 1).size(), 1u);
  EXPECT_EQ(friction_faults({"| F2 | a | `Suite.there` |"}, tests, 1).size(), 1u);
  EXPECT_EQ(friction_faults({"| F1 | a | `Suite.there` |"}, tests, 2), Texts{"Expected 2 lines, but found 1"});
}

}  // namespace
}  // namespace cairn::testing
