// Manual pages: sound for mandoc and for man, one of each command, with every option that the help has; and the facts
// of the build.
#include <gtest/gtest.h>
#include <regex>
#include <set>

#include "tests/ops/program.hpp"
#include "tests/paths.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;

std::set<std::string> found_in(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) found.insert((*at)[1]);
  return found;
}

std::set<std::string> commands_of(const std::string& help) {
  return found_in(help.substr(0, help.find("\nExample:")), std::regex("\\n  ([a-z][a-z-]*) "));
}

// The page as a reader has it; a letter that is printed twice over itself is bold.
std::string shown(const fs::path& page) {
  const std::string text = run_program("/usr/bin/mandoc", {"-T", "ascii", "-O", "width=300", page}).out;
  return std::regex_replace(text, std::regex(".\\x08"), "");
}

class Manual : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cairn_ok({"manual", "--to", place().string()}); }
  static fs::path place() { return directory() / "manual"; }
  static fs::path page(const std::string& command) { return place() / ("cairn-" + command + ".1"); }
};

TEST_F(Manual, is_sound_for_mandoc_and_for_man) {
  int pages = 0;
  for (const auto& entry : fs::directory_iterator(place())) {
    ++pages;
    const Ran lint = run_program("/usr/bin/mandoc", {"-T", "lint", "-W", "warning", entry.path()});
    EXPECT_EQ(lint.out + lint.err, "") << entry.path();
    const Ran man = run_program("/usr/bin/env", {"LC_ALL=C.UTF-8", "MANROFFSEQ=", "MANWIDTH=100", "man", "--warnings",
                                                 "--encoding=UTF-8", "--local-file", entry.path()});
    EXPECT_EQ(man.exit, 0) << man.err;
    EXPECT_EQ(man.err, "") << entry.path();
  }
  EXPECT_GT(pages, 40);
}

TEST_F(Manual, has_every_command_with_every_option_of_the_help) {
  std::size_t options = 0;
  const std::set<std::string> commands = commands_of(cairn({"--help"}).out);
  for (const std::string& command : commands) {
    const std::string text = shown(page(command));
    EXPECT_NE(text.find("cairn-" + command + " - "), std::string::npos) << text;
    std::string helps = cairn({command, "--help"}).out;
    for (const std::string& part : commands_of(helps)) helps += cairn({command, part, "--help"}).out;
    for (const std::string& option : found_in(helps, std::regex("\\n  (?:-\\w,)?(--[a-z-]+)"))) {
      ++options;
      EXPECT_NE(text.find(option), std::string::npos) << command << " " << option;
    }
  }
  EXPECT_GT(commands.size(), 40u);
  EXPECT_GT(options, 200u);
  const std::string program = shown(place() / "cairn.1");
  for (const std::string& command : commands)
    EXPECT_NE(program.find("cairn-" + command + "(1)"), std::string::npos) << command;
  EXPECT_NE(program.find("4 refused, 5 database unavailable."), std::string::npos) << program;
}

TEST_F(Manual, prints_one_page_and_refuses_what_has_none) {
  EXPECT_EQ(cairn_ok({"manual", "schedule"}).out, read_file(page("schedule")));
  EXPECT_EQ(cairn_ok({"manual"}).out, read_file(place() / "cairn.1"));
  expect_refused(cairn({"manual", "sing"}), 3, "Expected a command that has a manual page, but \"sing\" has none.");
  write_file("no_folder", "");
  expect_refused(cairn({"manual", "--to", (directory() / "no_folder").string()}), 4, "cannot be written");
}

TEST(Version, says_what_this_build_is) {
  const Json version = cairn_ok({"version", "--json"}).json();
  int migrations = 0;
  for ([[maybe_unused]] const auto& file : fs::directory_iterator(testing::source_dir() + "/schema/migrations"))
    ++migrations;
  EXPECT_EQ(version["schema"], migrations);
  EXPECT_GE(version["export"], 2);
  EXPECT_GE(version["fold"], 8);
  EXPECT_TRUE(std::regex_match(version["version"].get<std::string>(), std::regex("\\d+\\.\\d+\\.\\d+")));
  const bool is_repository = fs::exists(testing::source_dir() + "/.git");
  const std::string commit = version["commit"].is_null() ? "" : version["commit"].get<std::string>();
  EXPECT_EQ(std::regex_match(commit, std::regex("[0-9a-f]{40}\\+?")), is_repository) << version;
  for (const char* library :
       {"boost", "cli11", "libpq", "libpqxx", "nlohmann_json", "openssl", "spdlog", "zlib", "zstd"})
    EXPECT_TRUE(std::regex_search(version["libraries"][library].get<std::string>(), std::regex("^\\d+\\.\\d+")))
        << library;
  EXPECT_FALSE(version["compiler"].get<std::string>().empty());
  const std::string plain = cairn_ok({"--version"}).out;
  EXPECT_EQ(plain, "cairn " + version["version"].get<std::string>() + "\n");
  EXPECT_TRUE(cairn_ok({"version"}).out.starts_with("cairn " + version["version"].get<std::string>()));
}

TEST(Version, is_the_newest_of_the_changelog_and_of_the_clients) {
  const std::string version = cairn_ok({"version", "--json"}).json()["version"];
  const std::string root = testing::source_dir();
  const std::string changelog = read_file(root + "/ops/CHANGELOG.md");
  std::smatch heading;
  ASSERT_TRUE(std::regex_search(changelog, heading, std::regex("\n## (\\d[^,\n]*), \\d{4}-\\d\\d-\\d\\d\n")));
  EXPECT_EQ(heading[1], version) << "the newest version";
  const std::string before = heading.prefix();
  EXPECT_EQ(before.find("\n## "), before.find("\n## Unreleased\n")) << "nothing else is before it";
  const std::string python = read_file(root + "/workers/clients/python/cairn/__init__.py");
  EXPECT_NE(python.find("__version__ = \"" + version + "\""), std::string::npos);
  EXPECT_EQ(Json::parse(read_file(root + "/workers/clients/typescript/package.json"))["version"], version);
}

}  // namespace
}  // namespace cairn::program
