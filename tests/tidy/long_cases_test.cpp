// tests/long_cases.txt keeps its word: each pattern names tests that exist, one line each, in order. So does the mark
// LONG in ops/cmake/tests.cmake: under it stand the files of long cases alone, which a plain ops/test does not compile.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.hpp"
#include "tests/tidy/named_tests.hpp"
#include "tests/tidy/sources.hpp"

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

// By suite, what stands before it in the names of its cases: "Stores" in "Stores/Suite.case/memory".
using Prefixes = std::map<std::string, Lines>;

Prefixes prefixes_of(const Sources& sources) {
  static const std::string start = "INSTANTIATE_TEST_SUITE_P(";
  static const std::regex named(R"(^\s*(\w+),\s*(\w+))");
  Prefixes prefixes;
  for (const Source& source : sources) {
    for (std::size_t line = 0; line < source.lines.size(); ++line) {
      if (!source.lines[line].starts_with(start)) continue;
      std::string text = source.lines[line].substr(start.size());
      if (line + 1 < source.lines.size()) text += " " + source.lines[line + 1];
      std::smatch found;
      if (std::regex_search(text, found, named)) prefixes[found[2]].push_back(found[1]);
    }
  }
  return prefixes;
}

// The cases of a file as far as a pattern has to match them: up to the parameter, once for each prefix.
Lines cases_of(const Source& source, const Prefixes& prefixes) {
  static const std::regex declared(R"(^TEST(_F|_P)?\((\w+), *(\w+)\))");
  Lines cases;
  for (const std::string& line : source.lines) {
    std::smatch found;
    if (!line.starts_with("TEST") || !std::regex_search(line, found, declared)) continue;
    const std::string name = found[2].str() + "." + found[3].str();
    const auto its = found[1] == "_P" ? prefixes.find(found[2]) : prefixes.end();
    if (its == prefixes.end())
      cases.push_back(name);
    else
      for (const std::string& prefix : its->second) cases.push_back(prefix + "/" + name + "/");
  }
  return cases;
}

bool is_long(const std::string& name, const Lines& list) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& pattern) {
    return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
  });
}

// A test program's source, and where it stands in ops/cmake/tests.cmake.
struct Listed {
  std::string program;
  bool is_long;
  const Source* file;
};

std::vector<Listed> listed_in(const std::string& cmake, const Sources& sources) {
  static const std::regex token(
      R"(cairn_tests\((\w+)|target_sources\((short|long)_(\w+)|\bLONG\b|\)|tests/[\w/]+\.cpp)");
  std::string program;  // "": the list of none
  bool is_long = false;
  std::vector<Listed> listed;
  for (std::sregex_iterator found(cmake.begin(), cmake.end(), token), end; found != end; ++found) {
    const std::string word = found->str();
    if (word == ")") program.clear();
    if (word == "LONG") is_long = true;
    if ((*found)[1].matched || (*found)[3].matched) {
      program = (*found)[1].str() + (*found)[3].str();
      is_long = (*found)[2] == "long";
    }
    const Source* file = program.empty() ? nullptr : find_source(sources, word);
    if (file != nullptr) listed.push_back({program, is_long, file});
  }
  return listed;
}

// The faults of the mark, one sentence each: it stands over all files of long cases alone, and over no others.
Faults mark_faults(const std::string& cmake, const Sources& sources, const Lines& list) {
  const Prefixes prefixes = prefixes_of(sources);
  Faults faults;
  for (const auto& [program, stands_under_long, file] : listed_in(cmake, sources)) {
    const Lines cases = cases_of(*file, prefixes);
    if (cases.empty()) continue;
    const auto other =
        std::find_if_not(cases.begin(), cases.end(), [&](const auto& name) { return is_long(name, list); });
    if (other == cases.end() && !stands_under_long)
      faults.push_back(file->path + ": all its cases are long: it stands under LONG");
    if (other != cases.end() && stands_under_long)
      faults.push_back(file->path + ": it stands under LONG, but this case is not long: " + *other);
  }
  return faults;
}

// Includes of a file that is not long, whose definitions stand under LONG: the short program does not link.
Faults link_faults(const std::string& cmake, const Sources& sources) {
  const std::vector<Listed> listed = listed_in(cmake, sources);
  std::set<std::string> long_headers;
  for (const auto& [program, is_long, file] : listed)
    if (is_long) long_headers.insert(program + " " + file->path.substr(0, file->path.size() - 3) + "hpp");
  static const std::regex include(R"re(^#include "([^"]+)")re");
  Faults faults;
  std::smatch found;
  for (const auto& [program, is_long, file] : listed)
    for (const std::string& line : file->lines)
      if (!is_long && std::regex_search(line, found, include) && long_headers.contains(program + " " + found[1].str()))
        faults.push_back(file->path + ": it is not long, but the source of " + found[1].str() + " stands under LONG");
  return faults;
}

TEST(LongCases, files_of_nothing_else_are_not_compiled_by_a_plain_run_and_all_others_are) {
  const Source* cmake = find_source(all_sources(), "ops/cmake/tests.cmake");
  ASSERT_NE(cmake, nullptr);
  const std::string text = text_of(*cmake);
  EXPECT_NE(text.find("\n  LONG\n"), std::string::npos);
  const Faults faults = mark_faults(text, all_sources(), lines_of(source_dir() + "/tests/long_cases.txt"));
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

TEST(LongCases, a_program_without_them_has_all_that_it_includes) {
  const Source* cmake = find_source(all_sources(), "ops/cmake/tests.cmake");
  ASSERT_NE(cmake, nullptr);
  const Faults faults = link_faults(text_of(*cmake), all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

TEST(LongCases, an_include_of_what_stands_under_the_mark_is_reported) {
  const Sources sources = {
      source("tests/a.cpp", "#include \"tests/help.hpp\"\nTEST(A, one) {}\n"),
      source("tests/b.cpp", "#include \"tests/help.hpp\"\nTEST(B, one) {}\n"),
      source("tests/help.cpp", "int help() { return 1; }\n"),
  };
  const auto faults = [&](const std::string& cmake) { return link_faults(cmake, sources); };
  EXPECT_EQ(faults("cairn_tests(x fast y\n  tests/a.cpp\n  LONG\n  tests/b.cpp\n  tests/help.cpp\n)\n"),
            Faults{"tests/a.cpp: it is not long, but the source of tests/help.hpp stands under LONG"});
  EXPECT_EQ(faults("cairn_tests(x fast y\n  tests/a.cpp\n  tests/help.cpp\n  LONG\n  tests/b.cpp\n)\n"), Faults{});
  EXPECT_EQ(faults("cairn_tests(x fast y\n  LONG\n  tests/b.cpp\n  tests/help.cpp\n)\n"
                   "cairn_tests(z fast y\n  tests/a.cpp\n  tests/help.cpp\n)\n"),
            Faults{});
}

TEST(LongCases, a_file_under_the_wrong_mark_is_reported) {
  const Sources sources = {
      source("tests/a.cpp", "TEST(A, one) {}\nTEST_F(A, two) {}\n"),
      source("tests/b.cpp", "INSTANTIATE_TEST_SUITE_P(Each, B,\n  Values(1));\nTEST_P(B, one) {}\n"),
      source("tests/help.cpp", "int help() { return 1; }\n"),
  };
  const std::string all_short = "cairn_tests(x fast y\n  tests/a.cpp\n  tests/b.cpp\n  tests/help.cpp\n)\n";
  const std::string b_long = "cairn_tests(x fast y\n  tests/a.cpp\n  LONG\n  tests/b.cpp\n  tests/help.cpp\n)\n";
  const auto faults = [&](const std::string& cmake, const Lines& list) { return mark_faults(cmake, sources, list); };
  EXPECT_EQ(faults(all_short, {"A.one", "Each/B.one/1"}), Faults{});
  EXPECT_EQ(faults(all_short, {"A.*"}), Faults{"tests/a.cpp: all its cases are long: it stands under LONG"});
  EXPECT_EQ(faults(all_short, {"Each/B.one/*"}).size(), 1U);
  EXPECT_EQ(faults(b_long, {"Each/B.*"}), Faults{});
  EXPECT_EQ(faults(b_long, {"Each/B.one/1"}),
            Faults{"tests/b.cpp: it stands under LONG, but this case is not long: Each/B.one/"});
  EXPECT_EQ(faults("target_sources(long_x PRIVATE tests/a.cpp)", {"A.one"}).size(), 1U);
  EXPECT_EQ(faults("add_executable(x\n  tests/a.cpp\n)\n", {"A.*"}), Faults{});
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
