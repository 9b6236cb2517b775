// Tidy rules of the build and the papers: every source is built, the README names what exists, scripts stop at a fault.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

// An example that users build has a project of its own, which names its files by themselves.
void add_files_of_examples(const Sources& sources, std::set<std::string>& files) {
  static const std::regex named("\\b\\w+\\.cpp\\b");
  static const std::string list_name = "/CMakeLists.txt";
  for (const Source& source : sources) {
    if (!ends_with(source.path, list_name)) continue;
    const std::string folder = source.path.substr(0, source.path.size() - list_name.size() + 1);
    const std::string text = text_of(source);
    for (std::sregex_iterator match(text.begin(), text.end(), named), end; match != end; ++match)
      if (find_source(sources, folder + match->str()) != nullptr) files.insert(folder + match->str());
  }
}

std::set<std::string> built_files(const Sources& sources) {
  static const std::regex listed("\\b(engine|storage|workers|ops|tests)/[\\w/]+\\.cpp\\b");
  std::set<std::string> files;
  for (const char* path : {"CMakeLists.txt", "ops/cmake/library.cmake", "ops/cmake/tests.cmake"}) {
    const Source* list = find_source(sources, path);
    const std::string text = list == nullptr ? "" : text_of(*list);
    for (std::sregex_iterator match(text.begin(), text.end(), listed), end; match != end; ++match)
      files.insert(match->str());
  }
  add_files_of_examples(sources, files);
  return files;
}

Faults build_faults(const Sources& sources) {
  Faults faults;
  const auto built = built_files(sources);
  for (const auto& file : built) {
    if (find_source(sources, file) == nullptr) faults.push_back(file + ": CMake builds it, but there is no such file");
  }
  for (const auto& source : sources) {
    if (ends_with(source.path, ".cpp") && !built.contains(source.path))
      faults.push_back(source.path + ": CMake does not build it");
  }
  return faults;
}

TEST(Tidy, every_source_is_built) {
  const auto cmake = source("CMakeLists.txt", "add_library(x\n  engine/a.cpp\n)");
  EXPECT_EQ(build_faults({cmake}).size(), 1u);
  EXPECT_EQ(build_faults({cmake, source("engine/a.cpp", ""), source("engine/b.cpp", "")}).size(), 1u);
  const auto faults = build_faults(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

bool is_program(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(project_root() / path, ignored);
  return std::filesystem::is_regular_file(status) &&
         (status.permissions() & std::filesystem::perms::owner_exec) != std::filesystem::perms::none;
}

TEST(Tidy, the_readme_names_programs_that_exist) {
  static const std::regex named("\\./(ops/\\w+)");
  const Source* readme = find_source(all_sources(), "README.md");
  ASSERT_NE(readme, nullptr);
  const std::string text = text_of(*readme);
  std::set<std::string> programs;
  for (std::sregex_iterator match(text.begin(), text.end(), named), end; match != end; ++match)
    programs.insert((*match)[1]);
  EXPECT_TRUE(programs.contains("ops/quickstart"));
  EXPECT_TRUE(programs.contains("ops/test"));
  for (const auto& program : programs) EXPECT_TRUE(is_program(program)) << program;
}

Faults script_faults(const Source& source) {
  if (source.lines.empty() || !source.lines[0].starts_with("#!")) return {};
  Faults faults;
  const std::string text = text_of(source);
  if (text.find("set -euo pipefail\n") == std::string::npos && text.find("\nexec ") == std::string::npos) {
    faults.push_back(source.path + ":1: a script stops at the first fault (set -euo pipefail)");
  }
  return faults;
}

TEST(Tidy, scripts_stop_at_the_first_fault) {
  expect_fault(script_faults, source("ops/a", "#!/usr/bin/env bash\nfalse\ntrue\n"));
  expect_clean(script_faults);
  for (const auto& script : all_sources()) {
    const bool is_script = !script.lines.empty() && script.lines[0].starts_with("#!");
    EXPECT_TRUE(!is_script || is_program(script.path)) << script.path << " is not executable";
  }
}

bool is_of_bash(const Source& source) {
  static const std::regex shebang("^#!.*\\bbash\\b");
  return !source.lines.empty() && std::regex_search(source.lines[0], shebang);
}

// `grep -q` ends at the first match: a command that still writes into the pipe is killed by that, and with pipefail the
// pipe has failed although the line was found. A here-string has no writer, and `grep > /dev/null` reads to the end.
Faults hasty_pipes(const Source& source) {
  static const std::regex pipe("(?:^|[^|])\\|&? *[ef]?grep\\b[^|;&)]* (?:-[a-zA-Z]*q[a-zA-Z]*|--quiet|--silent)\\b");
  static const std::regex goes_on("(?:^|[^|])\\|&? *\\\\?$");  // in the next line
  static const std::regex comment("^\\s*#");
  if (!is_of_bash(source) || text_of(source).find("pipefail") == std::string::npos) return {};
  Source code = source;
  std::vector<std::string>& lines = code.lines;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_search(lines[i], comment)) lines[i].clear();
    if (i > 0 && std::regex_search(lines[i - 1], goes_on)) lines[i] = "| " + lines[i];
  }
  return lines_with(code, pipe, "grep -q ends a pipe early, which then counts as failed: ");
}

TEST(Tidy, no_pipe_of_a_script_ends_in_a_grep_that_stops_at_the_first_match) {
  const auto script = [](const std::string& line, const std::string& start = "#!/usr/bin/env bash\n") {
    return source("ops/a", start + "set -euo pipefail\n" + line + "\n");
  };
  for (const char* line : {"ctest -N | grep -q 'Total Tests: 0' && exit 1", "  if ls | grep -qE '^a'; then",
                           "ls |grep -Fq a", "ls | grep -i -q a", "ls | grep --quiet a", "ls | egrep -q a",
                           "ls | grep a -q", "ls |& grep -q a", "ls |\n  grep -q a", "ls | \\\n  grep -q a",
                           "ls \\\n  | grep -q a", "until curl -s a | grep -q b; do sleep 1; done"})
    expect_fault(hasty_pipes, script(line));
  expect_fault(hasty_pipes, script("ls | grep -q a", "#!/bin/bash\n"));
  for (const char* line : {"grep -q a <<< \"$list\"", "ls | grep a > /dev/null", "grep -q a file | cat",
                           "ls | grep -c a", "# ls | grep -q a", "ls | grep -e quiet", "ls || grep -q a b",
                           "ls ||\n  grep -q a b", "ls | grep -v a && grep -q a b", "grep -q a file || true"})
    expect_none(hasty_pipes, script(line));
  expect_none(hasty_pipes, script("ls | grep -q a", "#!/bin/sh\n"));
  expect_none(hasty_pipes, source("ops/guide/a.md", "    ls | grep -q a\n"));
  expect_none(hasty_pipes, source("ops/a", "#!/usr/bin/env bash\nls | grep -q a\n"));
  expect_clean(hasty_pipes);
}

std::set<std::string> targets_of_the_program() {
  static const std::regex named("Target\\{\"(\\w+)\"");
  const Source* source = find_source(all_sources(), "tests/fuzz/targets.cpp");
  const std::string text = source == nullptr ? "" : text_of(*source);
  std::set<std::string> targets;
  for (std::sregex_iterator match(text.begin(), text.end(), named), end; match != end; ++match)
    targets.insert((*match)[1]);
  return targets;
}

std::string printed_by(const std::string& script, const std::string& argument) {
  const std::string command = "'" + (project_root() / script).string() + "' '" + argument + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int c = pipe ? std::fgetc(pipe.get()) : EOF; c != EOF; c = std::fgetc(pipe.get())) text += static_cast<char>(c);
  return text;
}

// As its help lists them; without arguments it takes all of them.
std::set<std::string> targets_of_the_script() {
  const std::string text = printed_by("ops/fuzz", "--help");
  std::smatch line;
  if (!std::regex_search(text, line, std::regex(" TARGET +([\\w ]+) \\(all of them\\)"))) return {};
  std::istringstream words(line[1]);
  return {std::istream_iterator<std::string>(words), {}};
}

// The bare Debian of the packages' test was green where it had done nothing.
TEST(Tidy, cases_that_were_skipped_are_counted_at_the_end_of_a_run_with_their_reasons) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "cairn_tidy_skipped";
  std::filesystem::create_directories(folder / "Testing/Temporary");
  std::ofstream(folder / "Testing/Temporary/LastTest.log")
      << "[ RUN      ] A.one\na.cpp:1: Skipped\nneeds root\n\n[  SKIPPED ] A.one (0 ms)\n"
         "[ RUN      ] A.two\n[       OK ] A.two (3 ms)\n"
         "[ RUN      ] B.one\nb.cpp:9: Skipped\nneeds root\n\n[  SKIPPED ] B.one (12 ms)\n"
         "[ RUN      ] B.two\nb.cpp:9: Skipped\nlater\n\n[  SKIPPED ] B.two (1 ms)\n"
         "[  SKIPPED ] 3 tests, listed below:\n[  SKIPPED ] A.one\n[  SKIPPED ] B.one\n[  SKIPPED ] B.two\n";
  EXPECT_EQ(printed_by("ops/skipped", folder.string()),
            "test: skipped: A.one and 1 more: needs root\ntest: skipped: B.two: later\n");
  std::filesystem::remove_all(folder);
}

TEST(Tidy, a_fuzzing_run_without_arguments_takes_each_target) {
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(project_root() / "tests/fuzz/corpus"))
    folders.insert(entry.path().filename().string());
  EXPECT_EQ(targets_of_the_program(), folders);
  EXPECT_EQ(targets_of_the_script(), folders);
}

}  // namespace
}  // namespace cairn::testing
