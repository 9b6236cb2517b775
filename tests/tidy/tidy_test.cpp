// Rules of this code base that a test can hold. Each is a function from sources to faults ("path:line: what is wrong"),
// tried on bad examples first and then on every file of the project. An exception stands in its rule's list, with its
// reason.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/paths.hpp"

namespace {

namespace fs = std::filesystem;
using Faults = std::vector<std::string>;

// --- sources --------------------------------------------------------------------------------------------------------

struct Source {
  std::string path;  // from the project's root, "/" between parts
  std::vector<std::string> lines;
};
using Sources = std::vector<Source>;

const fs::path root = cairn::testing::source_dir();

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Source source(std::string path, const std::string& text) {
  std::istringstream in(text);
  return {std::move(path), lines_of(in)};
}

std::string text_of(const Source& source) {
  std::string text;
  for (const auto& line : source.lines) text += line + '\n';
  return text;
}

bool ends_with(std::string_view text, std::string_view end) { return text.ends_with(end); }
bool is_header(const Source& source) { return ends_with(source.path, ".hpp"); }
bool is_cpp(const Source& source) { return ends_with(source.path, ".cpp") || is_header(source); }

std::string folder_of(const Source& source) { return source.path.substr(0, source.path.find('/')); }

std::string fault_at(const Source& source, std::size_t line, const std::string& says) {
  return source.path + ":" + std::to_string(line + 1) + ": " + says;
}

// What git tracks or would track; nothing when this is no repository (an unpacked archive).
std::vector<std::string> paths_of_git() {
  const std::string command =
      "git -C '" + root.string() + "' ls-files --cached --others --exclude-standard 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int c = pipe ? std::fgetc(pipe.get()) : EOF; c != EOF; c = std::fgetc(pipe.get())) text += static_cast<char>(c);
  std::istringstream in(text);
  return lines_of(in);
}

std::vector<std::string> paths_of_folder() {
  std::vector<std::string> paths;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string path = fs::relative(entry->path(), root).generic_string();
    if (path == "build" || path == ".git" || path == ".cache") entry.disable_recursion_pending();
    if (entry->is_regular_file()) paths.push_back(path);
  }
  return paths;
}

std::vector<std::string> all_paths() {
  auto paths = paths_of_git();
  if (paths.empty()) paths = paths_of_folder();
  std::erase_if(paths, [](const std::string& path) { return !fs::is_regular_file(root / path); });
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

const Sources& all_sources() {
  static const Sources sources = [] {
    Sources all;
    for (const auto& path : all_paths()) {
      std::ifstream in(root / path);
      all.push_back({path, lines_of(in)});
    }
    return all;
  }();
  return sources;
}

// Recorded data: bytes that a test compares, in nobody's style.
bool is_data(const Source& source) {
  static const std::regex data("^tests/(.*\\.(json|jsonl|tsv|txt|golden|bin)|fuzz/corpus/.*)$");
  return std::regex_search(source.path, data);
}

using Rule = Faults (*)(const Source&);

Faults faults_of(Rule rule, const Sources& sources) {
  Faults faults;
  for (const auto& source : sources) {
    auto found = rule(source);
    faults.insert(faults.end(), found.begin(), found.end());
  }
  return faults;
}

std::string joined(const Faults& faults) {
  std::string text;
  for (const auto& fault : faults) text += "\n  " + fault;
  return text;
}

// One fault for each line in which `pattern` is found.
Faults lines_with(const Source& source, const std::regex& pattern, const std::string& says) {
  Faults faults;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(source.lines[i], match, pattern)) faults.push_back(fault_at(source, i, says + match.str()));
  }
  return faults;
}

void expect_fault(Rule rule, const Source& bad) { EXPECT_EQ(rule(bad).size(), 1u) << bad.path << joined(rule(bad)); }
void expect_none(Rule rule, const Source& good) { EXPECT_TRUE(rule(good).empty()) << joined(rule(good)); }
void expect_clean(Rule rule) {
  const auto faults = faults_of(rule, all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

// --- includes -------------------------------------------------------------------------------------------------------

struct Folder {
  std::set<std::string> folders;      // whose headers it may include
  std::set<std::string> third_party;  // in its .cpp files
};

const std::set<std::string> libraries = {"nlohmann", "pqxx", "libpq-fe.h", "openssl", "spdlog",
                                         "boost",    "CLI",  "valijson",   "gtest",   "gmock"};

const std::map<std::string, Folder> arrows = {
    {"engine", {{"engine"}, {"nlohmann"}}},
    {"storage", {{"engine", "storage"}, {"nlohmann", "pqxx", "libpq-fe.h", "openssl", "spdlog"}}},
    {"workers", {{"engine", "storage", "workers"}, {"nlohmann", "boost", "openssl", "spdlog", "valijson"}}},
    {"ops", {{"engine", "storage", "workers", "ops"}, {"nlohmann", "boost", "spdlog", "CLI"}}},
    {"tests", {{"engine", "storage", "workers", "ops", "tests"}, libraries}},
};

// Path and what it includes against the table -> reason.
const std::map<std::pair<std::string, std::string>, std::string> include_exceptions = {
    {{"ops/bench/rig/limit.cpp", "libpq-fe.h"}, "measures PostgreSQL without Cairn"},
};

// In headers: JSON in the engine's, and what makes a function a coroutine in the workers'.
const std::set<std::pair<std::string, std::string>> allowed_in_headers = {{"engine", "nlohmann/json.hpp"},
                                                                          {"workers", "boost/asio/awaitable.hpp"}};

bool is_standard(const std::string& file) { return file.find_first_of("/.") == std::string::npos; }

std::string include_fault(const Source& source, const std::string& file, bool quoted) {
  if (include_exceptions.contains({source.path, file})) return "";
  const auto& folder = arrows.at(folder_of(source));
  const std::string first = file.substr(0, file.find('/'));
  if (quoted) return folder.folders.contains(first) ? "" : folder_of(source) + " may not include " + file;
  if (is_standard(file)) return "";
  if (!libraries.contains(first)) return folder_of(source) == "engine" ? "engine is pure: no " + file : "";
  if (!folder.third_party.contains(first)) return folder_of(source) + " may not use " + file;
  if (!is_header(source) || folder_of(source) == "tests" || allowed_in_headers.contains({folder_of(source), file}))
    return "";
  return "third-party headers belong into .cpp files: " + file;
}

Faults include_faults(const Source& source) {
  static const std::regex include("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"]");
  Faults faults;
  if (!is_cpp(source) || !arrows.contains(folder_of(source))) return faults;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(source.lines[i], match, include)) continue;
    const std::string says = include_fault(source, match[2], match[1] == "\"");
    if (!says.empty()) faults.push_back(fault_at(source, i, says));
  }
  return faults;
}

TEST(Tidy, includes_follow_the_folders) {
  expect_fault(include_faults, source("engine/a.cpp", "#include \"storage/store.hpp\""));
  expect_fault(include_faults, source("storage/a.cpp", "#include \"workers/session/pool.hpp\""));
  expect_fault(include_faults, source("workers/a.cpp", "#include \"ops/terminal/print.hpp\""));
  expect_fault(include_faults, source("workers/a.cpp", "#include <pqxx/pqxx>"));
  expect_fault(include_faults, source("workers/a.hpp", "#include <boost/asio.hpp>"));
  expect_fault(include_faults, source("engine/a.cpp", "#include <unistd.h>"));
  expect_none(include_faults, source("workers/a.cpp", "#include <boost/asio.hpp>\n#include \"storage/store.hpp\""));
  expect_clean(include_faults);
}

// --- rooms ----------------------------------------------------------------------------------------------------------

// The floors of each top folder, lowest first. A file may include from its own room and from rooms on lower floors of
// its folder; rooms on one floor do not know each other. So no two rooms depend on each other both ways. A name that
// ends with "/" stands for every folder below it.
using Floors = std::vector<std::vector<std::string>>;

const std::map<std::string, Floors> house = {
    {"engine", {{"engine"}}},
    {"storage", {{"storage"}, {"storage/postgres"}, {"storage/proof", "storage/data"}}},
    {"workers",
     {{"workers/ports"},
      {"workers/handlers"},
      {"workers/tools/", "workers/session"},
      {"workers/planners"},
      {"workers/planners/plan_decomposer"},
      {"workers/planners/"},
      {"workers"},
      {"workers/runtime", "workers/simulation"}}},
    {"ops",
     {{"ops/requests"},
      {"ops/answers"},
      {"ops/terminal"},
      {"ops/service"},
      {"ops/audit"},
      {"ops/http", "ops/bench/rig", "ops/commands"},
      {"ops/bench", "ops/commands/"},
      {"ops"}}},
};

std::string room_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// A room's floor, counted from below; -1: the table does not know the room. The longest name that fits decides.
int floor_of(const Floors& floors, const std::string& room) {
  int floor = -1;
  std::size_t longest = 0;
  for (std::size_t at = 0; at < floors.size(); ++at) {
    for (const std::string& name : floors[at]) {
      const bool fits = name == room || (name.ends_with('/') && room.starts_with(name));
      if (!fits || name.size() < longest) continue;
      longest = name.size();
      floor = static_cast<int>(at);
    }
  }
  return floor;
}

std::string room_fault(const std::string& from, const std::string& to) {
  const std::string folder = from.substr(0, from.find('/'));
  if (from == to || folder != to.substr(0, to.find('/'))) return "";  // between folders: see `arrows`
  const Floors& floors = house.at(folder);
  if (floor_of(floors, from) < 0) return from + " is a room that the table of floors does not name";
  if (floor_of(floors, to) < 0) return to + " is a room that the table of floors does not name";
  if (floor_of(floors, to) < floor_of(floors, from)) return "";
  return from + " may not include from " + to + ", which does not stand on a lower floor";
}

Faults room_faults(const Source& source) {
  static const std::regex include("^\\s*#\\s*include\\s*\"([^\"]+)\"");
  Faults faults;
  if (!is_cpp(source) || !house.contains(folder_of(source))) return faults;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(source.lines[i], match, include)) continue;
    const std::string says = room_fault(room_of(source.path), room_of(match[1]));
    if (!says.empty()) faults.push_back(fault_at(source, i, says));
  }
  return faults;
}

TEST(Tidy, rooms_include_from_lower_floors_only) {
  expect_fault(room_faults, source("storage/chain.cpp", "#include \"storage/proof/signing.hpp\""));
  expect_fault(room_faults, source("storage/proof/a.cpp", "#include \"storage/data/corpus.hpp\""));
  expect_fault(room_faults, source("workers/ports/a.cpp", "#include \"workers/handlers/handler.hpp\""));
  expect_fault(room_faults, source("workers/session/a.cpp", "#include \"workers/runtime/worker.hpp\""));
  expect_fault(room_faults, source("workers/tools/page/a.cpp", "#include \"workers/tools/data/query.hpp\""));
  expect_fault(room_faults,
               source("workers/planners/seven_node/a.cpp", "#include \"workers/planners/venture_scope/prompts.hpp\""));
  expect_fault(room_faults, source("ops/http/a.cpp", "#include \"ops/commands/runs/start.hpp\""));
  expect_fault(room_faults, source("ops/nowhere/a.cpp", "#include \"ops/terminal/print.hpp\""));
  expect_none(room_faults, source("storage/proof/a.cpp", "#include \"storage/postgres/rows.hpp\""));
  expect_none(room_faults, source("workers/runtime/a.cpp", "#include \"workers/session/session.hpp\""));
  expect_none(room_faults, source("workers/planners/plan_runner/a.cpp",
                                  "#include \"workers/planners/plan_decomposer/outline.hpp\""));
  expect_clean(room_faults);
}

constexpr std::size_t units_max = 20;  // a header and its source are one unit

// One fault for each room that has become a list. The engine is one room and stays flat.
Faults full_rooms(const Sources& sources) {
  std::map<std::string, std::set<std::string>> units;
  for (const Source& source : sources) {
    const bool counts = is_cpp(source) || ends_with(source.path, ".sql");
    if (counts && folder_of(source) != "engine")
      units[room_of(source.path)].insert(source.path.substr(0, source.path.rfind('.')));
  }
  Faults faults;
  for (const auto& [room, names] : units)
    if (names.size() > units_max)
      faults.push_back(room + ": Expected at most " + std::to_string(units_max) + " units in a room, but found " +
                       std::to_string(names.size()));
  return faults;
}

TEST(Tidy, rooms_are_no_lists) {
  Sources many;
  for (std::size_t n = 0; n <= units_max; ++n) many.push_back(source("ops/a" + std::to_string(n) + ".cpp", ""));
  EXPECT_EQ(full_rooms(many).size(), 1u);
  many.pop_back();
  many.push_back(source("ops/a0.hpp", ""));
  EXPECT_TRUE(full_rooms(many).empty());
  const auto faults = full_rooms(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

// --- engine ---------------------------------------------------------------------------------------------------------

Faults impurities(const Source& source) {
  static const std::regex impure(
      "<(thread|mutex|shared_mutex|condition_variable|atomic|future|random|fstream|iostream|filesystem|ctime)>|"
      "\\b\\w+_clock\\b|\\bgetenv\\b|\\b(s?rand|time|fopen|printf|system)\\s*\\(|\\bthread_local\\b|std::c(out|err|log|"
      "in)\\b");
  static const std::regex comment("^\\s*//");
  if (folder_of(source) != "engine" || !is_cpp(source)) return {};
  Source code = source;
  for (auto& line : code.lines) line = std::regex_search(line, comment) ? "" : line;
  return lines_with(code, impure, "engine does no I/O, reads no clock, draws no number, has no threads: ");
}

TEST(Tidy, the_engine_is_pure) {
  expect_fault(impurities, source("engine/a.cpp", "#include <thread>"));
  expect_fault(impurities, source("engine/a.cpp", "auto now = std::chrono::system_clock::now();"));
  expect_fault(impurities, source("engine/a.cpp", "const char* home = std::getenv(\"HOME\");"));
  expect_none(impurities, source("storage/a.cpp", "#include <thread>"));
  expect_clean(impurities);
}

// --- SQL ------------------------------------------------------------------------------------------------------------

// Path -> reason.
const std::map<std::string, std::string> sql_exceptions = {};

Faults inline_sql(const Source& source) {
  static const std::regex sql(
      "\"[^\"]*\\b(SELECT\\s|INSERT\\s+INTO\\s|UPDATE\\s+\\w[^\"]*\\sSET\\s|DELETE\\s+FROM\\s|"
      "(CREATE|ALTER|DROP|TRUNCATE)\\s+(TABLE|INDEX|VIEW|FUNCTION)\\s|COPY\\s+\\w+\\s)");
  if (!is_cpp(source) || folder_of(source) == "tests" || sql_exceptions.contains(source.path)) return {};
  return lines_with(source, sql, "SQL lives in schema/: ");
}

TEST(Tidy, sql_lives_in_schema) {
  expect_fault(inline_sql, source("storage/a.cpp", "  tx.exec(\"SELECT 1 FROM cairn.run\");"));
  expect_fault(inline_sql, source("ops/a.cpp", "  tx.exec(\"UPDATE cairn.run SET head = 1\");"));
  expect_none(inline_sql, source("ops/a.cpp", "  say(\"Expected to update a run\");"));
  expect_clean(inline_sql);
}

Faults migration_faults(const Sources& sources) {
  static const std::regex numbered("^schema/migrations/([0-9]{4})_[a-z][a-z0-9_]*\\.sql$");
  Faults faults;
  int expected = 1;
  for (const auto& source : sources) {
    std::smatch match;
    if (!source.path.starts_with("schema/migrations/")) continue;
    if (!std::regex_match(source.path, match, numbered)) {
      faults.push_back(source.path + ": a migration is named NNNN_what_it_does.sql");
    } else if (std::stoi(match[1]) != expected++) {
      faults.push_back(source.path + ": the next migration has the number " + std::to_string(expected - 1));
    }
  }
  return faults;
}

TEST(Tidy, migrations_are_numbered_without_a_gap) {
  const auto named = [](const char* name) { return source(std::string("schema/migrations/") + name, ""); };
  EXPECT_EQ(migration_faults({named("0001_tables.sql"), named("0003_views.sql")}).size(), 1u);
  EXPECT_EQ(migration_faults({named("0001_tables.sql"), named("0001_views.sql")}).size(), 1u);
  EXPECT_EQ(migration_faults({named("tables.sql")}).size(), 1u);
  const auto faults = migration_faults(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

// --- names ----------------------------------------------------------------------------------------------------------

Faults name_faults(const Source& source) {
  static const std::regex file("(^|[/_])(utils?|common|helpers?|base|impl|managers?|misc)([_./]|$)");
  static const std::regex type(
      "\\b(class|struct|namespace)\\s+(\\w*(Util|Common|Helper|Base|Impl|Manager)s?|utils?|common)\\b");
  Faults faults;
  if (is_cpp(source)) faults = lines_with(source, type, "a name that says nothing: ");
  if (std::regex_search(source.path, file)) faults.push_back(source.path + ": a name that says nothing");
  return faults;
}

TEST(Tidy, names_say_something) {
  expect_fault(name_faults, source("engine/json_util.hpp", ""));
  expect_fault(name_faults, source("ops/common.cpp", ""));
  expect_fault(name_faults, source("ops/a.cpp", std::string("struct ") + "RunManager {};"));
  expect_none(name_faults, source("storage/database.cpp", "struct Baseline {};"));
  Sources others = all_sources();
  std::erase_if(others, [](const Source& s) { return s.path == "tests/tidy/tidy_test.cpp"; });
  const auto faults = faults_of(name_faults, others);
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

Faults place_faults(const Source& source) {
  static const std::set<std::string> allowed = {
      "CMakeLists.txt", "engine",    "workers", "storage",          "schema", "ops",
      "tests",          "README.md", "LICENSE", "CMakePresets.json"};
  const std::string top = folder_of(source);
  if (top.starts_with('.') || allowed.contains(top)) return {};
  return {source.path + ": the project's root holds what its owner fixed, and " + top + " is not of it"};
}

TEST(Tidy, the_root_holds_what_was_agreed) {
  expect_fault(place_faults, source("docs/guide.md", ""));
  expect_fault(place_faults, source("Makefile", ""));
  expect_clean(place_faults);
}

// --- form -----------------------------------------------------------------------------------------------------------

std::size_t characters(const std::string& line) {
  const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), is_start));
}

Faults line_faults(const Source& source) {
  static const std::regex prose("\\.(md|json)$");
  Faults faults;
  if (is_data(source) || source.path == "LICENSE") return faults;
  const bool any_length = std::regex_search(source.path, prose);
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const auto& line = source.lines[i];
    const bool is_json = folder_of(source) == "tests" && line.find("\":") != std::string::npos;
    if (!any_length && !is_json && characters(line) > 120) faults.push_back(fault_at(source, i, "over 120 characters"));
    if (line.find('\t') != std::string::npos) faults.push_back(fault_at(source, i, "a tab"));
    if (line.ends_with(' ') || line.ends_with('\r')) faults.push_back(fault_at(source, i, "white space at the end"));
  }
  return faults;
}

TEST(Tidy, lines_are_short_and_clean) {
  expect_fault(line_faults, source("engine/a.cpp", std::string(121, 'x')));
  expect_fault(line_faults, source("engine/a.cpp", "int a;\t// tab"));
  expect_fault(line_faults, source("schema/a.sql", "int a; "));
  std::string umlauts;
  for (int i = 0; i < 120; ++i) umlauts += "ü";
  expect_none(line_faults, source("engine/a.cpp", umlauts));
  expect_none(line_faults, source("tests/a_test.cpp", "R\"({\"name\": \"" + std::string(121, 'x') + "\"})\""));
  expect_clean(line_faults);
}

Faults leftovers(const Source& source) {
  static const std::regex left(
      "\\b(TO"
      "DO|FIX"
      "ME|X"
      "XX|HA"
      "CK)\\b|DISA"
      "BLED_|GTEST_"
      "SKIP|#if 0");
  if (is_data(source) || source.path == "tests/tidy/tidy_test.cpp") return {};
  return lines_with(source, left, "what is unfinished or switched off is not merged: ");
}

TEST(Tidy, nothing_is_left_for_later) {
  expect_fault(leftovers, source("engine/a.cpp",
                                 "// TO"
                                 "DO: later"));
  expect_fault(leftovers, source("tests/a_test.cpp",
                                 "TEST(A, DISA"
                                 "BLED_b) {}"));
  expect_fault(leftovers, source("tests/a_test.cpp",
                                 "  GTEST_"
                                 "SKIP();"));
  expect_none(leftovers, source("storage/a.cpp", "std::string name = \"/tmp/cairn-XXXXXX\";"));
  expect_clean(leftovers);
}

Faults machine_paths(const Source& source) {
  static const std::regex path("(^|[^\\w/.~}])/(work|home|root|Users)/\\w");
  if (is_data(source) || source.path == "tests/tidy/tidy_test.cpp") return {};
  return lines_with(source, path, "a path of somebody's machine: ");
}

TEST(Tidy, no_path_of_a_development_machine) {
  expect_fault(machine_paths, source("ops/a.cpp", "open(\"/home/ann/cairn\");"));
  expect_fault(machine_paths, source("README.md", "see /Users/ann/cairn"));
  expect_none(machine_paths, source("ops/a.cpp", "get(\"http://127.0.0.1/home/x\");"));
  expect_clean(machine_paths);
}

// --- headers --------------------------------------------------------------------------------------------------------

Faults header_faults(const Source& source) {
  static const std::set<std::string> public_folders = {"engine", "storage", "workers", "ops"};
  static const std::regex contract("thread|[Pp]lain values?|[Pp]ure functions?|[Cc]onstant data");
  if (!is_header(source)) return {};
  Faults faults;
  const std::size_t count = source.lines.size();
  const auto top =
      Source{source.path, {source.lines.begin(), source.lines.begin() + std::min<long>(25, static_cast<long>(count))}};
  const bool once = std::find(top.lines.begin(), top.lines.end(), "#pragma once") != top.lines.end();
  if (count == 0 || !source.lines[0].starts_with("//"))
    faults.push_back(source.path + ":1: says what it is in a comment first");
  if (!once) faults.push_back(source.path + ":1: has no #pragma once near its top");
  if (public_folders.contains(folder_of(source)) && !std::regex_search(text_of(top), contract)) {
    faults.push_back(source.path + ":1: has a sentence on threads near its top");
  }
  return faults;
}

TEST(Tidy, headers_are_contracts) {
  expect_fault(header_faults, source("engine/a.hpp", "#pragma once\n// Not thread-safe.\n"));
  expect_fault(header_faults, source("engine/a.hpp", "// A thing. Not thread-safe.\n"));
  expect_fault(header_faults, source("engine/a.hpp", "// A thing.\n#pragma once\n"));
  expect_none(header_faults, source("engine/a.hpp", "// A thing. Not thread-safe.\n#pragma once\n"));
  expect_clean(header_faults);
}

Faults abstractions(const Source& source) {
  static const std::regex pure_virtual("\\)\\s*(const)?\\s*(noexcept)?\\s*= 0;");
  static const std::set<std::string> seams = {"storage/store.hpp",
                                              "workers/ports/ports.hpp"};  // Store; Model and Tools
  if (!is_cpp(source) || seams.contains(source.path) || folder_of(source) == "tests") return {};
  return lines_with(source, pure_virtual, "a fourth abstract class needs a record in ops/decisions: ");
}

TEST(Tidy, three_abstract_classes_are_enough) {
  expect_fault(abstractions, source("ops/a.hpp", "  virtual void run() = 0;"));
  expect_clean(abstractions);
}

// --- functions ------------------------------------------------------------------------------------------------------

constexpr std::size_t function_lines_max = 100;

std::size_t indent_of(const std::string& line) { return std::min(line.find_first_not_of(' '), line.size()); }

// A function, of a namespace or of a class in one, has its first line at an indent of at most two; one of its first
// lines ends with `{`; it is over at the next `}` with its indent.
Faults long_functions(const Source& source) {
  static const std::regex opens("[)\\w>}] \\{$");
  static const std::regex no_function("^ *(namespace|extern|class|struct|enum|union|public|private)\\b");
  Faults faults;
  std::size_t begin = 0;
  bool open = false;
  for (std::size_t i = 0; is_cpp(source) && i < source.lines.size(); ++i) {
    const auto& line = source.lines[i];
    if (!open && indent_of(line) <= 2 && !line.empty()) begin = i;
    const auto& first = source.lines[begin];
    if (!open) {
      open = std::regex_search(line, opens) && !std::regex_search(first, no_function);
    } else if (line.starts_with(std::string(indent_of(first), ' ') + "}")) {
      const std::size_t length = i - begin + 1;
      if (length > function_lines_max) {
        faults.push_back(fault_at(source, begin, "a function of " + std::to_string(length) + " lines"));
      }
      open = false;
    }
  }
  return faults;
}

TEST(Tidy, functions_fit_on_a_screen) {
  const auto function = [](int lines) {
    std::string text = "namespace cairn {\nint f(int a) {\n";
    for (int i = 0; i < lines; ++i) text += "  ++a;\n";
    return source("engine/a.cpp", text + "}\n}  // namespace cairn\n");
  };
  expect_fault(long_functions, function(99));
  expect_none(long_functions, function(98));
  auto broken = function(98).lines;
  broken[1] = "std::string a_function_with_a_long_name(std::string_view first,";
  broken.insert(broken.begin() + 2, "                                        std::string_view second) {");
  expect_fault(long_functions, {"engine/a.cpp", broken});
  auto inside = function(99).lines;
  for (auto& line : inside) line = "  " + line;
  inside[0] = "class A {";
  inside.back() = "};";
  expect_fault(long_functions, {"engine/a.hpp", inside});
  expect_none(long_functions, source("engine/a.cpp", "struct A {\n" + std::string(200, '\n') + "};"));
  expect_clean(long_functions);
}

// --- the build and the papers ---------------------------------------------------------------------------------------

const Source* find_source(const Sources& sources, const std::string& path) {
  const auto found = std::find_if(sources.begin(), sources.end(), [&](const Source& s) { return s.path == path; });
  return found == sources.end() ? nullptr : &*found;
}

std::set<std::string> built_files(const Sources& sources) {
  static const std::regex listed("\\b(engine|storage|workers|ops|tests)/[\\w/]+\\.cpp\\b");
  std::set<std::string> files;
  for (const char* path : {"CMakeLists.txt", "ops/cmake/tests.cmake"}) {
    const Source* list = find_source(sources, path);
    const std::string text = list == nullptr ? "" : text_of(*list);
    for (std::sregex_iterator match(text.begin(), text.end(), listed), end; match != end; ++match)
      files.insert(match->str());
  }
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

// Two types of one name in one namespace share their inline functions, and the linker takes either: each type has a
// name of its own, unless it is a file's own.
Faults twins(const Sources& sources) {
  static const std::regex type("^(?:struct|class|enum class|enum) (\\w+)(?: final)?(?: :.*)? \\{");
  static const std::set<std::string> folders = {"engine", "storage", "workers", "ops"};
  std::map<std::string, std::string> first;
  Faults faults;
  for (const Source& source : sources) {
    if (!is_cpp(source) || !folders.contains(folder_of(source))) continue;
    bool is_own = false;
    std::string space;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      if (line == "namespace {" || line == "}  // namespace") is_own = line == "namespace {";
      if (line.starts_with("namespace cairn")) space = line;
      std::smatch found;
      if (is_own || !std::regex_search(line, found, type)) continue;
      const auto [known, is_new] = first.try_emplace(space + found.str(1), source.path);
      if (!is_new) faults.push_back(fault_at(source, i, found.str(1) + " is a type of " + known->second + " too"));
    }
  }
  return faults;
}

TEST(Tidy, types_have_no_twins) {
  const auto one = source("ops/a.hpp", "struct Seen {\n};");
  EXPECT_EQ(twins({one, source("workers/b.hpp", "class Seen final : public X {\n};")}).size(), 1u);
  EXPECT_TRUE(twins({one, source("workers/b.cpp", "namespace {\nstruct Seen {\n};\n}  // namespace")}).empty());
  EXPECT_TRUE(twins({one, source("workers/b.cpp", "struct Seen::Parts {\n};\nstruct Seen;")}).empty());
  const auto faults = twins(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

bool is_program(const std::string& path) {
  std::error_code ignored;
  const auto status = fs::status(root / path, ignored);
  return fs::is_regular_file(status) && (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
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

}  // namespace
