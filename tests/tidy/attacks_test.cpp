// tests/attacks.md keeps its word: each finding of the reviews has its line, each line names tests, and they exist.
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.hpp"
#include "tests/tidy/named_tests.hpp"

namespace cairn::testing {
namespace {

using Sentences = std::vector<std::string>;

// A1 to A19, H1 to H24, D1 to D15.
std::set<std::string> all_findings() {
  std::set<std::string> findings;
  for (const auto& [letter, count] : {std::pair("A", 19), std::pair("H", 24), std::pair("D", 15)})
    for (int n = 1; n <= count; ++n) findings.insert(letter + std::to_string(n));
  return findings;
}

// The faults of the page, one sentence each.
Sentences attack_faults(const Sentences& page, const std::set<std::string>& tests, std::set<std::string> findings) {
  static const std::regex row(R"(^\| ([AHD]\d+) \| .+ \| (`\w+\.\w+`(?: `\w+\.\w+`)*) \|$)");
  static const std::regex named(R"(`(\w+\.\w+)`)");
  Sentences faults;
  for (const std::string& line : page) {
    std::smatch found;
    if (!std::regex_match(line, found, row)) continue;
    findings.erase(found[1]);
    const std::string list = found[2];
    for (std::sregex_iterator one(list.begin(), list.end(), named), end; one != end; ++one)
      if (!tests.contains((*one)[1])) faults.push_back("There is no test " + (*one)[1].str());
  }
  for (const std::string& finding : findings) faults.push_back("Expected a line with tests of " + finding);
  return faults;
}

TEST(Attacks, issue_18_every_finding_names_tests_that_exist) {
  const Sentences page = lines_of(source_dir() + "/tests/attacks.md");
  for (const std::string& fault : attack_faults(page, test_names(), all_findings())) ADD_FAILURE() << fault;
}

TEST(Attacks, what_the_page_lacks_is_reported) {
  const std::set<std::string> tests{"Suite.there"};
  EXPECT_EQ(attack_faults({"| A1 | was found | `Suite.there` |"}, tests, {"A1"}), Sentences{});
  EXPECT_EQ(attack_faults({"| A1 | was found | `Suite.gone` |"}, tests, {"A1"}),
            Sentences{"There is no test Suite.gone"});
  EXPECT_EQ(attack_faults({"| A1 | was found | by luck |"}, tests, {"A1"}),
            Sentences{"Expected a line with tests of A1"});
}

}  // namespace
}  // namespace cairn::testing
