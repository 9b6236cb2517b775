// tests/attacks.md keeps its word: each finding of the reviews has its line, each line names tests, they exist, and
// each test that is named for a finding stands in its line; one that is skipped on some machines is marked as such.
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

// A1 to A19, H1 to H24, D1 to D15.
std::set<std::string> all_findings() {
  std::set<std::string> findings;
  for (const auto& [letter, count] : {std::pair("A", 19), std::pair("H", 24), std::pair("D", 15)})
    for (int n = 1; n <= count; ++n) findings.insert(letter + std::to_string(n));
  return findings;
}

// "Suite.A17_D9_what_is_so" is named for A17 and D9, "Suite.D8a_what_is_so" for a part of D8.
std::set<std::string> findings_named_in(const std::string& test, const std::set<std::string>& findings) {
  static const std::regex mark(R"(([A-Z]\d+)[a-z]?_)");
  std::set<std::string> named;
  const auto begin = test.begin() + static_cast<std::ptrdiff_t>(test.find('.') + 1);
  for (std::sregex_iterator one(begin, test.end(), mark, std::regex_constants::match_continuous), end; one != end;
       ++one)
    if (findings.contains((*one)[1])) named.insert((*one)[1]);
  return named;
}

// The faults of the page, one sentence each.
Sentences attack_faults(const Sentences& page, const std::set<std::string>& tests, std::set<std::string> findings) {
  static const std::regex row(R"(^\| ([AHD]\d+) \| .+ \| ()" + std::string(tests_cell) + R"() \|$)");
  static const std::regex named(R"(`(\w+\.\w+)`)");
  Sentences faults;
  std::map<std::string, std::set<std::string>> lacking;
  for (const std::string& test : tests)
    for (const std::string& finding : findings_named_in(test, findings)) lacking[finding].insert(test);
  for (const std::string& line : page) {
    std::smatch found;
    if (!std::regex_match(line, found, row)) continue;
    findings.erase(found[1]);
    const std::string list = found[2];
    for (std::sregex_iterator one(list.begin(), list.end(), named), end; one != end; ++one) {
      if (!tests.contains((*one)[1])) faults.push_back("There is no test " + (*one)[1].str());
      lacking[found[1]].erase((*one)[1]);
    }
  }
  for (const auto& [finding, lacks] : lacking)
    for (const std::string& test : lacks) faults.push_back("Expected " + test + " in the line of " + finding);
  for (const std::string& finding : findings) faults.push_back("Expected a line with tests of " + finding);
  return faults;
}

TEST(Attacks, issue_18_every_finding_names_tests_that_exist) {
  const Sentences page = lines_of(source_dir() + "/tests/attacks.md");
  for (const std::string& fault : attack_faults(page, test_names(), all_findings())) ADD_FAILURE() << fault;
}

TEST(Attacks, a_test_that_is_skipped_somewhere_is_named_with_where_it_runs) {
  const WhereTestsRun where = where_tests_run();
  ASSERT_FALSE(where.empty());
  for (const std::string& line : lines_of(source_dir() + "/tests/attacks.md"))
    for (const std::string& fault : where_faults(line, where)) ADD_FAILURE() << fault;
}

TEST(Attacks, where_a_test_runs_is_taken_from_its_body) {
  const std::string skip =
      ") GTEST_"
      "SKIP() << \"why\";";
  const WhereTestsRun where = where_tests_run(
      {"TEST(Suite, always) {", "}", "void helps() {", "  if (geteuid() != 0" + skip, "}", "TEST_F(Suite, root) {",
       "  if (geteuid() != 0" + skip, "}", "TEST(Suite, less) {", "  if (!fs::exists(\"/usr/bin/less\")" + skip, "}"});
  EXPECT_EQ(where, (WhereTestsRun{{"Suite.root", {"as root"}}, {"Suite.less", {"where "}}}));
  EXPECT_EQ(where_faults("| A1 | was | `Suite.root` (as root) `Suite.always` `Suite.less` (where less is) |", where),
            Sentences{});
  EXPECT_EQ(where_faults("| A1 | was | `Suite.always` `Suite.root` |", where),
            Sentences{"Expected \"as root\" in parentheses after Suite.root, which is skipped elsewhere"});
  EXPECT_EQ(where_faults("| A1 | was | `Suite.less` (as root) |", where).size(), 1u);
  EXPECT_EQ(where_faults("| A1 | was | `Suite.always` (as root) |", where),
            Sentences{"Suite.always is never skipped, but its line says: as root"});
}

TEST(Attacks, what_the_page_lacks_is_reported) {
  const std::set<std::string> tests{"Suite.there"};
  EXPECT_EQ(attack_faults({"| A1 | was found | `Suite.there` |"}, tests, {"A1"}), Sentences{});
  EXPECT_EQ(attack_faults({"| A1 | was found | `Suite.there` (as root) `Suite.there` |"}, tests, {"A1"}), Sentences{});
  EXPECT_EQ(attack_faults({"| A1 | was found | `Suite.gone` |"}, tests, {"A1"}),
            Sentences{"There is no test Suite.gone"});
  EXPECT_EQ(attack_faults({"| A1 | was found | by luck |"}, tests, {"A1"}),
            Sentences{"Expected a line with tests of A1"});
  const std::set<std::string> more{"Suite.there", "Suite.A1_E5_D9a_found", "Suite.A12_of_another_list",
                                   "Suite.B_A1_not"};
  EXPECT_EQ(attack_faults({"| A1 | was found | `Suite.there` |", "| D9 | too | `Suite.A1_E5_D9a_found` |"}, more,
                          {"A1", "D9"}),
            Sentences{"Expected Suite.A1_E5_D9a_found in the line of A1"});
}

}  // namespace
}  // namespace cairn::testing
