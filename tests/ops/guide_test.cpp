// The root's README.md and the guides in ops/guide, taken at their word: every block of shell commands is run, in
// order, on a database of the page's own, and what it prints is compared with the block of text after it.
//
// A page's commands are its ```sh blocks; one that says more after its `sh` is not run. The ```text block that follows
// one is what it prints, on stdout and stderr: `...` stands for anything in a line, and alone in a line for any lines.
// Ids, times, hashes, process ids and milliseconds are not compared, nor is white space within a line. That the
// database starts is said by whichever command is the first: pages say it only where it is their subject.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "tests/ops/free_port.hpp"
#include "tests/ops/program.hpp"
#include "tests/paths.hpp"
#include "workers/handlers/builtin_handlers.hpp"
#include "workers/ports/tools_file.hpp"

namespace cairn::program {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

const fs::path root = testing::source_dir();

const Lines& guide_pages() {
  static const Lines pages = [] {
    Lines found = {"README.md"};
    for (const auto& entry : fs::directory_iterator(root / "ops/guide"))
      if (entry.path().extension() == ".md") found.push_back("ops/guide/" + entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }();
  return pages;
}

Lines lines_of_text(const std::string& text) {
  std::istringstream in(text);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// --- the form of a page ---------------------------------------------------------------------------------------------

struct Block {
  int line = 0;
  std::string commands;
  std::string why_not;                  // "": it is run
  std::optional<std::string> expected;  // nothing: whatever it prints will do
};

// A fenced block as it stands: what is after its first three backticks, and what is in it.
struct Fence {
  int line = 0;
  std::string info;
  std::string text;
  bool is_next = false;  // only empty lines are between it and the one before
};

std::vector<Fence> fences_of(const std::string& page) {
  std::vector<Fence> fences;
  bool is_inside = false;
  bool is_next = false;
  int number = 0;
  for (const std::string& line : lines_of_text(page)) {
    ++number;
    const bool is_mark = line.starts_with("```");
    if (is_inside && !is_mark) fences.back().text += line + "\n";
    if (!is_inside && is_mark) fences.push_back({number, line.substr(3), "", is_next});
    if (is_mark) is_inside = !is_inside;
    is_next = is_mark || (is_next && line.empty());
  }
  return fences;
}

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> blocks;
  bool may_follow = false;
  for (const Fence& fence : fences_of(page)) {
    const bool is_shell = fence.info == "sh" || fence.info.starts_with("sh ");
    if (is_shell) blocks.push_back({fence.line, fence.text, fence.info.substr(2), std::nullopt});
    if (fence.info == "text" && fence.is_next && may_follow) blocks.back().expected = fence.text;
    may_follow = is_shell && fence.info == "sh";
  }
  return blocks;
}

// --- what is compared -----------------------------------------------------------------------------------------------

// The line without what differs from run to run.
std::string settled(std::string line) {
  static const std::pair<std::regex, const char*> kinds[] = {
      {std::regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"},
      {std::regex("\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+Z)?"), "TIME"},
      {std::regex("\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}( [A-Z]{2,5}\\b)?"), "TIME"},
      {std::regex("STARTED \\([A-Z]{2,5}\\)"), "STARTED"},
      {std::regex("\\b\\d{2}:\\d{2}:\\d{2}\\.\\d{3}\\b"), "TIME"},
      {std::regex("\\b(Worker|pid|PID) \\d+"), "$1 N"},
      {std::regex("\\b\\d+ ms\\b"), "N ms"},
      {std::regex("\"(pid|latency_ms|beats)\":\\d+"), "\"$1\":N"},
      {std::regex("\\b\\d{12,}\\b"), "N"},
      {std::regex("\\b[0-9a-f]{12,64}\\b"), "HASH"},
      {std::regex("[ -]{3,}|\\s+"), " "},
      {std::regex("^ | $"), ""},
  };
  for (const auto& [kind, word] : kinds) line = std::regex_replace(line, kind, word);
  return line;
}

// Whether the pattern's parts stand in the line in their order, the first at its beginning and the last at its end.
bool line_fits(const std::string& pattern, const std::string& line) {
  std::size_t at = 0;
  std::size_t from = 0;
  for (std::size_t dots = pattern.find("..."); dots != std::string::npos; dots = pattern.find("...", from)) {
    const std::string part = pattern.substr(from, dots - from);
    const std::size_t found = line.find(part, at);
    if (found == std::string::npos || (from == 0 && found != 0)) return false;
    at = found + part.size();
    from = dots + 3;
  }
  const std::string last = pattern.substr(from);
  if (from == 0) return line == pattern;
  return line.size() >= at + last.size() && line.ends_with(last);
}

// Whether the lines from `line` on are what the patterns from `pattern` on say.
bool lines_fit(const Lines& patterns, std::size_t pattern, const Lines& lines, std::size_t line) {
  if (pattern == patterns.size()) return line == lines.size();
  if (patterns[pattern] == "...") {
    for (std::size_t rest = line; rest <= lines.size(); ++rest)
      if (lines_fit(patterns, pattern + 1, lines, rest)) return true;
    return false;
  }
  return line < lines.size() && line_fits(patterns[pattern], lines[line]) &&
         lines_fit(patterns, pattern + 1, lines, line + 1);
}

bool fits(const std::string& expected, const std::string& printed) {
  Lines patterns = lines_of_text(expected);
  Lines lines = lines_of_text(printed);
  for (Lines* texts : {&patterns, &lines}) {
    for (std::string& line : *texts) line = settled(line);
    std::erase(*texts, "");
  }
  return lines_fit(patterns, 0, lines, 0);
}

TEST(Guide, compares_what_matters) {
  EXPECT_TRUE(fits("a\n...\nb\n", "a\nx\ny\nb\n"));
  EXPECT_TRUE(fits("a\n...\nb\n", "a\nb\n"));
  EXPECT_TRUE(fits("done, ... events, 30 ms\n", "done, 25 events, 7 ms\n"));
  EXPECT_TRUE(fits("01a20a22-17c8-700d-b404-6670e40f2736  done\n", "0f2a0a22-17c8-700d-b404-6670e40f2737 done\n"));
  EXPECT_TRUE(fits("1  20:38:56.201  run_started", "  1  09:00:00.000     run_started"));
  EXPECT_FALSE(fits("a\nb\n", "a\nx\nb\n"));
  EXPECT_FALSE(fits("a\n", "a\nb\n"));
  EXPECT_FALSE(fits("a\nb\n", "a\n"));
  EXPECT_FALSE(fits("done, ... events", "failed, 25 events"));
  EXPECT_FALSE(fits("25 events", "26 events"));
  EXPECT_FALSE(fits("a ...", "b a 1"));
}

TEST(Guide, finds_the_blocks_of_a_page) {
  const std::vector<Block> blocks = blocks_of(
      "# A\n```sh\necho a\n```\n\n```text\na\n```\n```json\n{}\n```\n```sh not run: why\nb\n```\n```text\nc\n```\n");
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].commands, "echo a\n");
  EXPECT_EQ(blocks[0].expected, "a\n");
  EXPECT_EQ(blocks[1].why_not, " not run: why");
  EXPECT_EQ(blocks[1].expected, std::nullopt);
}

// Without the line about the start of the database, if the page's block has none.
std::string told_apart(const std::string& printed, const std::string& expected) {
  static const std::regex start("cairn: (Making and s|S)tarting the embedded database in [^\n]*\n");
  return std::regex_search(expected, start) ? printed : std::regex_replace(printed, start, "");
}

// --- running --------------------------------------------------------------------------------------------------------

// A folder for the page: the program on the PATH, a small repository with a history as the working directory, and next
// to that the packed client for TypeScript.
fs::path make_place(const std::string& name) {
  const fs::path place = directory() / name;
  fs::create_directories(place / "bin");
  fs::create_symlink(testing::cairn_program(), place / "bin/cairn");
  fs::create_symlink(root / "ops/guide/feed_to_table.sh", place / "bin/feed_to_table.sh");
  const std::string script = R"(set -e
mkdir -p "$1/here" && cd "$1/here" && git init -q .
cp "$2"/build/typescript/cairn-client-*.tgz .. || true  # without it, the page that installs it fails
for n in 1 2 3 4 5 6; do
  author=ann
  [ $((n % 3)) -ne 0 ] || author=ben
  mkdir -p engine storage
  echo $n | tee -a engine/decide.cpp >> storage/commit.cpp
  git add -A
  git -c "user.name=$author" -c "user.email=$author@example.com" -c commit.gpgsign=false commit -qm "Change $n"
done
)";
  const Ran made = run_program("/bin/sh", {write_file(name + ".make", script), place, root});
  EXPECT_EQ(made.exit, 0) << made.err;
  return place;
}

constexpr char mark = '\x1e';  // before what each block prints

std::string script_of(const std::vector<Block>& blocks, const fs::path& place) {
  std::string script = "cd '" + (place / "here").string() + "'\nexport CAIRN_DATA='" + (place / "data").string() +
                       "' PATH='" + (place / "bin").string() + "':$PATH PYTHONPATH='" +
                       (root / "workers/clients/python").string() +
                       "'\nexec 2>&1\nset -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].why_not.empty()) continue;
    script += "printf '\\036" + std::to_string(i) + "\\n'\n" + blocks[i].commands;
  }
  return script + "printf '\\036end\\n'\n";
}

// The output of each block, by its number; "end" if the last one was passed.
std::map<std::string, std::string> parts_of(const std::string& out) {
  std::map<std::string, std::string> parts;
  for (std::size_t at = out.find(mark); at != std::string::npos; at = out.find(mark, at)) {
    const std::size_t line = out.find('\n', ++at);
    parts[out.substr(at, line - at)] = out.substr(line + 1, out.find(mark, at) - line - 1);
  }
  return parts;
}

// A page of many commands takes minutes where other tests use the machine as well.
Ran run_page(const fs::path& script) {
  Beside shell("/bin/bash", {script});
  const bool has_ended = wait_until([&] { return shell.has_ended(); }, std::chrono::minutes(10));
  EXPECT_TRUE(has_ended) << script << " did not end.\n" << shell.out();
  if (!has_ended) shell.signal(SIGKILL);
  return {shell.wait(), shell.out(), shell.err()};
}

class GuidePage : public ::testing::TestWithParam<std::string> {};

TEST_P(GuidePage, does_what_it_says) {
  const std::string name =
      fs::path(GetParam()).parent_path().filename().string() + "_" + fs::path(GetParam()).stem().string();
  std::string page = read_file(root / GetParam());
  for (const char* port : {"8080", "9000"}) page = replaced(page, port, free_port());
  const std::vector<Block> blocks = blocks_of(page);
  const bool has_commands = std::any_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.why_not.empty(); });
  if (!has_commands) return;
  const fs::path place = make_place("guide_" + name);
  const Ran ran = run_page(write_file(name + ".sh", script_of(blocks, place)));
  if (fs::exists(place / "data")) cairn({"down", "--data", place / "data"});
  const std::map<std::string, std::string> parts = parts_of(ran.out);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto part = parts.find(std::to_string(i));
    if (part == parts.end()) continue;
    const std::string where = GetParam() + ":" + std::to_string(blocks[i].line) + ":\n" + blocks[i].commands;
    const bool is_last = parts.size() == parts.count("end") + 1 || !parts.contains("end");
    const bool is_broken = is_last && std::next(part) == parts.end();
    EXPECT_FALSE(is_broken && ran.exit != 0) << where << "exit " << ran.exit << ", and printed:\n" << part->second;
    if (!blocks[i].expected || is_broken) continue;
    EXPECT_TRUE(fits(*blocks[i].expected, told_apart(part->second, *blocks[i].expected)))
        << where << "Expected:\n"
        << *blocks[i].expected << "Printed:\n"
        << part->second;
  }
  EXPECT_TRUE(parts.contains("end")) << GetParam() << " stopped with exit " << ran.exit;
  EXPECT_FALSE(fs::exists(place / "data/postmaster.pid")) << GetParam() << " leaves its database running";
}

INSTANTIATE_TEST_SUITE_P(Guide, GuidePage, ::testing::ValuesIn(guide_pages()), [](const auto& page) {
  return std::regex_replace(fs::path(page.param).replace_extension().string(), std::regex("[^A-Za-z]"), "_");
});

// --- what stands between the blocks ---------------------------------------------------------------------------------

TEST(Guide, F16_leaves_out_few_commands_and_says_why) {
  Lines left_out;
  for (const std::string& page : guide_pages())
    for (const Block& block : blocks_of(read_file(root / page)))
      if (!block.why_not.empty()) left_out.push_back(page + ":" + block.why_not);
  EXPECT_EQ(left_out,
            (Lines{"README.md: not run: installs packages and builds",
                   "ops/guide/operations.md: not run: installs packages, as root",
                   "ops/guide/operations.md: not run: needs a Citus cluster; `ops/cluster test` runs it on one",
                   "ops/guide/running.md: not run: needs a server of your own",
                   "ops/guide/running.md: not run: needs a cluster of your own"}));
}

// The words of `cairn …` in code within the text, and in the blocks, one list for each command.
std::vector<Lines> commands_named_in(const std::string& page) {
  static const std::regex command("(?:^|[\\s`(])cairn( (?=[a-z]+\\b[^=])(?:\\\\\\n|[^`|;&<>()\\n])*)");
  static const std::regex code("```[^\\n]*\\n[^]*?```|`[^`]*`");
  std::vector<Lines> commands;
  for (std::sregex_iterator part(page.begin(), page.end(), code), end; part != end; ++part) {
    if (part->str().starts_with("```text") || part->str().starts_with("```cpp")) continue;
    const std::string text = std::regex_replace(part->str(), std::regex("#[^\\n]*"), "");
    for (std::sregex_iterator found(text.begin(), text.end(), command); found != end; ++found) {
      std::istringstream in((*found)[1].str());
      Lines words;
      for (std::string word; in >> word;)
        if (word != "\\") words.push_back(word);
      if (!words.empty()) commands.push_back(words);
    }
  }
  return commands;
}

// The help of a command, asked once.
const std::string& help_of(const std::string& command) {
  static std::map<std::string, std::string> helps;
  const auto known = helps.find(command);
  if (known != helps.end()) return known->second;
  Arguments arguments;
  std::istringstream in(command);
  for (std::string word; in >> word;) arguments.push_back(word);
  arguments.emplace_back("--help");
  return helps[command] = cairn(arguments).out;
}

// The commands that a help lists, in their groups; not the example at its end.
std::set<std::string> commands_in(const std::string& help) {
  static const std::regex listed("\\n  ([a-z][a-z-]*) ");
  const std::string list = help.substr(0, help.find("\nExample:"));
  std::set<std::string> commands;
  for (std::sregex_iterator found(list.begin(), list.end(), listed), end; found != end; ++found)
    commands.insert((*found)[1]);
  return commands;
}

TEST(Guide, names_commands_and_options_that_exist) {
  const std::set<std::string> known = commands_in(help_of(""));
  static const std::regex option("--[a-z-]+");
  for (const std::string& page : guide_pages()) {
    for (const Lines& words : commands_named_in(read_file(root / page))) {
      EXPECT_TRUE(known.contains(words[0])) << page << ": cairn " << words[0];
      std::string command = words[0];
      if (words.size() > 1 && commands_in(help_of(command)).contains(words[1])) command += " " + words[1];
      for (const std::string& word : words) {
        if (!std::regex_match(word, option)) continue;
        EXPECT_NE(help_of(command).find(word), std::string::npos) << page << ": cairn " << command << " " << word;
      }
    }
  }
}

TEST(Guide, runs_every_command_that_there_is) {
  std::set<std::string> missing = commands_in(help_of(""));
  for (const std::string& page : guide_pages())
    for (const Block& block : blocks_of(read_file(root / page)))
      if (block.why_not.empty())
        for (const Lines& words : commands_named_in("```sh\n" + block.commands + "```")) missing.erase(words[0]);
  EXPECT_EQ(missing, (std::set<std::string>{"distribute"})) << "they stand in blocks for servers of your own";
}

// The options that a help lists before those of every command.
std::set<std::string> options_in(const std::string& help) {
  static const std::regex listed("\\n  (?:-\\w,)?(--[a-z-]+)");
  const std::string own = help.substr(0, help.find("\nEvery command:"));
  std::set<std::string> options;
  for (std::sregex_iterator found(own.begin(), own.end(), listed), end; found != end; ++found)
    options.insert((*found)[1]);
  options.erase("--help");
  return options;
}

TEST(Guide, F4_runs_every_option_of_every_command) {
  std::map<std::string, std::set<std::string>> missing;
  for (const std::string& command : commands_in(help_of(""))) {
    if (command == "help") continue;
    const std::set<std::string> parts = commands_in(help_of(command));
    for (const std::string& part : parts) missing[command + " " + part] = options_in(help_of(command + " " + part));
    if (parts.empty()) missing[command] = options_in(help_of(command));
  }
  missing.erase("bench");                // its cases take minutes: see Bench.*
  missing["migrate"].erase("--shards");  // in the block for a server of your own
  for (const std::string& page : guide_pages())
    for (const Block& block : blocks_of(read_file(root / page)))
      for (const Lines& words : commands_named_in("```sh\n" + block.commands + "```")) {
        const std::string whole = words.size() > 1 ? words[0] + " " + words[1] : words[0];
        std::set<std::string>& left = missing[missing.contains(whole) ? whole : words[0]];
        for (const std::string& word : words) left.erase(word.substr(0, word.find('=')));
      }
  for (const auto& [command, options] : missing)
    for (const std::string& option : options) ADD_FAILURE() << "cairn " << command << " " << option;
}

TEST(Guide, links_lead_to_files) {
  static const std::regex link("\\]\\(([a-zA-Z_./]+)(#[^)]*)?\\)");
  for (const std::string& page : guide_pages()) {
    const std::string text = read_file(root / page);
    for (std::sregex_iterator found(text.begin(), text.end(), link), end; found != end; ++found)
      EXPECT_TRUE(fs::exists((root / page).parent_path() / (*found)[1].str())) << page << ": " << (*found)[1];
  }
}

// All texts that `pattern` finds in the sources of some folders, by its first group.
std::set<std::string> found_in_sources(const Lines& folders, const std::regex& pattern) {
  std::set<std::string> all;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cpp") continue;
      const std::string text = read_file(entry.path());
      for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found)
        all.insert((*found)[1]);
    }
  }
  return all;
}

TEST(Guide, has_every_environment_variable) {
  const std::string page = read_file(root / "ops/guide/running.md");
  const std::set<std::string> variables =
      found_in_sources({"engine", "storage", "workers", "ops"}, std::regex("\"(CAIRN_[A-Z_]+[A-Z])\""));
  EXPECT_GE(variables.size(), 20u);
  for (const std::string& variable : variables)
    EXPECT_NE(page.find("`" + variable + "`"), std::string::npos) << variable;
}

TEST(Guide, has_every_route_of_the_api) {
  const std::string page = read_file(root / "ops/guide/http.md");
  const std::set<std::string> routes =
      found_in_sources({"ops/http"}, std::regex("\\{\"(?:GET|POST|PUT)\", \"(?:/api/v1)?(/[^\"]*)\""));
  EXPECT_GE(routes.size(), 18u);
  for (const std::string& route : routes) {
    const std::string part = route.substr(route.rfind('/'));  // "/plan" stands next to the run's own path
    const std::string shown = part == "/{run}"       ? "/RUN"
                              : part == "/{name}"    ? "/NAME"
                              : part == "/{session}" ? "/SESSION"
                              : part == "/{hash}"    ? "/HASH?claim=CLAIM"
                                                     : part;
    EXPECT_NE(page.find(shown + "`"), std::string::npos) << route;
  }
}

TEST(Guide, has_every_setting_of_the_tools_file) {
  const std::string page = read_file(root / "ops/guide/tools.md");
  const auto refused = parse_tools(Json::parse(R"({"tools": {"x": {"exec": ["a"], "zz": 1}}})"));
  ASSERT_FALSE(refused.ok());
  std::smatch listed;
  const std::string sentence = refused.error().message;
  ASSERT_TRUE(std::regex_search(sentence, listed, std::regex("only ([a-z_, ]+) for tool"))) << sentence;
  std::istringstream words(std::regex_replace(listed[1].str(), std::regex(",| and "), " "));
  for (std::string word; words >> word;) EXPECT_NE(page.find("| `" + word + "` |"), std::string::npos) << word;
}

TEST(Guide, has_every_built_in_handler) {
  const std::string page = read_file(root / "ops/guide/graphs.md");
  HandlerTable table;
  add_builtin_handlers(table);
  for (const auto& [handler, labels] : table.labels())
    EXPECT_NE(page.find("| `" + handler + "`"), std::string::npos) << handler;
}

}  // namespace
}  // namespace cairn::program
