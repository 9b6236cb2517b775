// ops/guide/threat_model.md keeps its word: each line of what holds names tests, and every test on the page exists.
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

// The faults of the page, one sentence each. The first table is that of what holds: who, what, and the tests.
Sentences threat_faults(const Sentences& page, const std::set<std::string>& tests) {
  static const std::regex named(R"(`([A-Z]\w+\.\w+)`)");
  static const std::regex row(R"(^\| (?:.+ )?\| (.+) \| ()" + std::string(tests_cell) + R"() \|$)");
  Sentences faults;
  bool is_first_table = false;
  bool was_table = false;
  for (const std::string& line : page) {
    for (std::sregex_iterator found(line.begin(), line.end(), named), end; found != end; ++found)
      if (!tests.contains((*found)[1])) faults.push_back("There is no test " + (*found)[1].str());
    if (line.starts_with("|---")) {
      is_first_table = !was_table;
      was_table = true;
    } else if (line.empty()) {
      is_first_table = false;
    } else if (is_first_table) {
      if (!std::regex_match(line, row)) faults.push_back("Expected who, what holds and its tests, but found: " + line);
    }
  }
  return faults;
}

TEST(ThreatModel, issue_18_every_line_names_tests_that_exist) {
  const Sentences page = lines_of(source_dir() + "/ops/guide/threat_model.md");
  ASSERT_GT(page.size(), 40u);
  for (const std::string& fault : threat_faults(page, test_names())) ADD_FAILURE() << fault;
}

TEST(ThreatModel, a_test_that_is_skipped_somewhere_is_named_with_where_it_runs) {
  const WhereTestsRun where = where_tests_run();
  for (const std::string& line : lines_of(source_dir() + "/ops/guide/threat_model.md"))
    for (const std::string& fault : where_faults(line, where)) ADD_FAILURE() << fault;
}

TEST(ThreatModel, what_the_page_lacks_is_reported) {
  const std::set<std::string> tests{"Suite.there"};
  const auto page = [](const std::string& line) {
    return Sentences{"# Title", "", "| Who | What | Tests |", "|---|---|---|", line, "", "| Who |", "|---|", "| all |"};
  };
  EXPECT_EQ(threat_faults(page("| **A tool** | ends | `Suite.there` `Suite.there` |"), tests), Sentences{});
  EXPECT_EQ(threat_faults(page("| | ends | `Suite.gone` |"), tests).back(), "There is no test Suite.gone");
  EXPECT_EQ(threat_faults({"An open line names `Suite.gone` and `no.test`."}, tests),
            Sentences{"There is no test Suite.gone"});
  EXPECT_EQ(threat_faults(page("| **A tool** | ends | `Suite.there` (as root) |"), tests), Sentences{});
  EXPECT_EQ(threat_faults(page("| **A tool** | ends | |"), tests).size(), 1u);
  EXPECT_EQ(threat_faults(page("| **A tool** | ends | by luck |"), tests).size(), 1u);
}

}  // namespace
}  // namespace cairn::testing
