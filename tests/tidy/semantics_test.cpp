// tests/semantics.md keeps its word: every test it names exists, every sentence has one, and the numbers have no gap.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/paths.hpp"

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

const fs::path root = cairn::testing::source_dir();

Lines lines_of(const fs::path& path) {
  std::ifstream in(path);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// "Suite.name" of every test in the sources.
std::set<std::string> tests_there() {
  static const std::regex test(R"(^TEST(?:_F|_P)?\((\w+), *(\w+)\))");
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests")) {
    if (entry.path().extension() != ".cpp") continue;
    for (const std::string& line : lines_of(entry.path())) {
      std::smatch found;
      if (std::regex_search(line, found, test)) names.insert(found[1].str() + "." + found[2].str());
    }
  }
  return names;
}

// What is wrong with the list, one sentence each.
Lines faults_of(const Lines& list, const std::set<std::string>& tests) {
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
  const Lines list = lines_of(root / "tests/semantics.md");
  ASSERT_GT(list.size(), 60u);
  for (const std::string& fault : faults_of(list, tests_there())) ADD_FAILURE() << fault;
}

TEST(Semantics, what_the_list_lacks_is_told) {
  const std::set<std::string> tests{"Suite.there"};
  EXPECT_EQ(faults_of({"# Title", "", "## Part", "**S4.1** \"A sentence.\"", "- `Suite.there`"}, tests), Lines{});
  EXPECT_EQ(faults_of({"**S4.1** \"A sentence.\"", "- `Suite.gone`"}, tests), Lines{"There is no test Suite.gone"});
  EXPECT_EQ(faults_of({"**S4.1** \"A.\"", "**S4.2** \"B.\"", "- `Suite.there`"}, tests), Lines{"S4.1 has no test"});
  EXPECT_EQ(faults_of({"**S4.1** \"A.\""}, tests), Lines{"S4.1 has no test"});
  EXPECT_EQ(faults_of({"**S4.2** \"A.\"", "- `Suite.there`"}, tests).size(), 1u);
  EXPECT_EQ(faults_of({"**S4.1** \"A.\"", "- Suite.there"}, tests).size(), 2u);
}

}  // namespace
