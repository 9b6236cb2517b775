#include "tests/tidy/named_tests.hpp"

#include <fstream>
#include <regex>
#include <utility>

#include "tests/paths.hpp"

namespace cairn::testing {
namespace {

std::vector<std::filesystem::path> test_sources() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(source_dir()) / "tests"))
    if (entry.path().extension() == ".cpp") paths.push_back(entry.path());
  return paths;
}

// "Suite.name" where a test begins, otherwise "".
std::string test_that_begins(const std::string& line) {
  static const std::regex test(R"(^TEST(?:_F|_P)?\((\w+), *(\w+)\))");
  std::smatch found;
  return std::regex_search(line, found, test) ? found[1].str() + "." + found[2].str() : "";
}

// Where the test that this line skips runs: by the line's condition.
std::string where_not_skipped(const std::string& line) {
  static const std::vector<std::pair<std::string, std::string>> words = {
      {"!is_full()", "by ops/faults"},
      {"geteuid() != 0", "as root"},
      {"!disk.is_there()", "as root"},
      {"!keeps_signals_inside()", "where the kernel is 6.12 or newer"}};
  for (const auto& [condition, where] : words)
    if (line.find(condition) != std::string::npos) return where;
  return "where ";  // what it needs is there
}

}  // namespace

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::set<std::string> test_names() {
  std::set<std::string> names;
  for (const std::filesystem::path& path : test_sources())
    for (const std::string& line : lines_of(path))
      if (std::string name = test_that_begins(line); !name.empty()) names.insert(std::move(name));
  return names;
}

WhereTestsRun where_tests_run() {
  WhereTestsRun where;
  for (const std::filesystem::path& path : test_sources()) where.merge(where_tests_run(lines_of(path)));
  return where;
}

WhereTestsRun where_tests_run(const std::vector<std::string>& source) {
  static const std::string skip =
      "GTEST_"
      "SKIP()";
  WhereTestsRun where;
  std::string test;
  for (const std::string& line : source) {
    if (std::string name = test_that_begins(line); !name.empty()) test = std::move(name);
    if (line == "}") test.clear();
    if (!test.empty() && line.find(skip) != std::string::npos) where[test].insert(where_not_skipped(line));
  }
  return where;
}

std::vector<std::string> where_faults(const std::string& line, const WhereTestsRun& where) {
  static const std::regex named(R"(`([A-Z]\w+\.\w+)`(?: \(([^()|]+)\))?)");
  std::vector<std::string> faults;
  for (std::sregex_iterator one(line.begin(), line.end(), named), end; one != end; ++one) {
    const std::string test = (*one)[1], says = (*one)[2];
    const auto found = where.find(test);
    if (found == where.end()) {
      if (!says.empty()) faults.push_back(test + " is never skipped, but its line says: " + says);
      continue;
    }
    for (const std::string& words : found->second)
      if (says.find(words) == std::string::npos)
        faults.push_back("Expected \"" + words + "\" in parentheses after " + test + ", which is skipped elsewhere");
  }
  return faults;
}

}  // namespace cairn::testing
