// Tidy rules of the rooms: who may include whom, how many units a room holds, what the engine may use.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

// --- includes ------------------------------------------------------------------------------------------------------

struct Folder {
  std::set<std::string> folders;      // whose headers it may include
  std::set<std::string> third_party;  // in its .cpp files
};

const std::set<std::string> libraries = {"nlohmann", "pqxx",     "libpq-fe.h", "openssl", "spdlog",    "boost",
                                         "CLI",      "valijson", "gtest",      "gmock",   "prometheus"};

const std::map<std::string, Folder> arrows = {
    {"engine", {{"engine"}, {"nlohmann"}}},
    {"storage", {{"engine", "storage"}, {"nlohmann", "pqxx", "libpq-fe.h", "openssl", "spdlog"}}},
    {"workers", {{"engine", "storage", "workers"}, {"nlohmann", "boost", "openssl", "spdlog", "valijson"}}},
    {"ops", {{"engine", "storage", "workers", "ops"}, {"nlohmann", "boost", "spdlog", "CLI", "prometheus"}}},
    {"tests", {{"engine", "storage", "workers", "ops", "tests"}, libraries}},
};

// In headers: JSON in the engine's, and what makes a function a coroutine in the workers'.
const std::set<std::pair<std::string, std::string>> allowed_in_headers = {{"engine", "nlohmann/json.hpp"},
                                                                          {"workers", "boost/asio/awaitable.hpp"}};

// Parts of the server of sockets, whose values are those of the library; no header includes them.
const std::set<std::string> of_sockets = {"ops/http/transport/framing.hpp", "ops/http/transport/wire.hpp"};

const std::string installed_headers = "ops/library/include/";

bool is_standard(const std::string& file) { return file.find_first_of("/.") == std::string::npos; }

// Libraries that few files know, by the beginnings of these files' paths: the driver of PostgreSQL, the one for
// operators' work, the parser of the command line.
const std::map<std::string, std::vector<std::string>> known_to = {
    {"libpq-fe.h",
     {"storage/postgres/connection.cpp", "storage/postgres/dial.cpp", "storage/postgres/dsn.cpp",
      "storage/postgres/large_send.cpp", "storage/ground/library_versions.cpp"}},
    {"pqxx", {"storage/postgres/administration.cpp", "storage/ground/library_versions.cpp"}},
    {"CLI", {"ops/commands/", "ops/bench/bench_", "ops/command_line.", "ops/command_help."}}};

bool may_know(const Source& source, const std::string& library) {
  const auto known = known_to.find(library);
  if (known == known_to.end()) return true;
  return std::any_of(known->second.begin(), known->second.end(),
                     [&](const std::string& path) { return source.path.starts_with(path); });
}

std::string include_fault(const Source& source, const std::string& file, bool quoted) {
  const auto& folder = arrows.at(folder_of(source));
  const std::string first = file.substr(0, file.find('/'));
  if (quoted && is_header(source) && of_sockets.contains(file)) return "only .cpp files may include " + file;
  if (quoted) return folder.folders.contains(first) ? "" : folder_of(source) + " may not include " + file;
  if (is_standard(file)) return "";
  if (!libraries.contains(first)) return folder_of(source) == "engine" ? "engine is pure: no " + file : "";
  if (!folder.third_party.contains(first)) return folder_of(source) + " may not use " + file;
  if (!may_know(source, first)) return source.path + " is not among the files that may use " + file;
  if (source.path.starts_with(installed_headers) && file == "nlohmann/json.hpp") return "";
  if (first == "boost" && of_sockets.contains(source.path)) return "";
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
  expect_fault(include_faults, source("ops/a.hpp", "#include \"ops/http/transport/wire.hpp\""));
  expect_fault(include_faults, source("ops/a.hpp", "#include <nlohmann/json.hpp>"));
  expect_fault(include_faults, source("storage/feed/feed.cpp", "#include <libpq-fe.h>"));
  expect_fault(include_faults, source("storage/postgres/commit.cpp", "#include <pqxx/pqxx>"));
  expect_fault(include_faults, source("ops/http/a.cpp", "#include <CLI/CLI.hpp>"));
  expect_fault(include_faults, source("ops/main.cpp", "#include <CLI/CLI.hpp>"));
  expect_none(include_faults, source("storage/postgres/connection.cpp", "#include <libpq-fe.h>"));
  expect_none(include_faults, source("ops/commands/runs/a.cpp", "#include <CLI/CLI.hpp>"));
  expect_none(include_faults, source("ops/library/include/cairn/a.hpp", "#include <nlohmann/json.hpp>"));
  expect_none(include_faults, source("workers/a.cpp", "#include <boost/asio.hpp>\n#include \"storage/store.hpp\""));
  expect_clean(include_faults);
}

// --- rooms ---------------------------------------------------------------------------------------------------------

// The floors of each top folder, lowest first. A file may include from its own room and from rooms on lower floors of
// its folder; rooms on one floor do not know each other. So no two rooms depend on each other both ways. A name that
// ends with "/" stands for every folder below it.
using Floors = std::vector<std::vector<std::string>>;

const std::map<std::string, Floors> house = {
    {"engine", {{"engine"}}},
    {"storage",
     {{"storage/limits", "storage/starts", "storage/ground"},
      {"storage"},
      {"storage/postgres", "storage/memory"},
      {"storage/postgres/claims"},
      {"storage/postgres/store"},
      {"storage/server", "storage/proof", "storage/data", "storage/feed", "storage/migration", "storage/schedules",
       "storage/hooks"}}},
    {"workers",
     {{"workers/schemas"},
      {"workers/ports"},
      {"workers/models"},
      {"workers/handlers"},
      {"workers/tools/", "workers/runs", "workers/starts"},
      {"workers/session"},
      {"workers/planners", "workers/gateway"},
      {"workers/planners/plan_decomposer"},
      {"workers/planners/"},
      {"workers"},
      {"workers/schedules", "workers/hooks"},
      {"workers/runtime", "workers/simulation"}}},
    {"ops",
     {{"ops/requests"},
      {"ops/answers"},
      {"ops/terminal", "ops/metrics"},
      {"ops/service"},
      {"ops/audit"},
      {"ops/audit/blame"},
      {"ops/keeping", "ops/scheduling", "ops/hooks", "ops/traces"},
      {"ops/http/transport"},
      {"ops/http/access", "ops/http/bodies", "ops/http/streams", "ops/http/console", "ops/mcp"},
      {"ops/http", "ops/bench/rig", "ops/commands"},
      {"ops/trials"},
      {"ops/bench", "ops/commands/"},
      {"ops/bench/api", "ops/bench/history", "ops/bench/growth"},
      {"ops"},
      {"ops/library"}}},
    {"tests",
     {{"tests"},
      {"tests/engine", "tests/storage", "tests/workers", "tests/workers/ports", "tests/ops/http/openapi"},
      {"tests/ops"},
      {"tests/engine/", "tests/storage/limits", "tests/workers/session", "tests/workers/planners", "tests/ops/planners",
       "tests/ops/clients"},
      {"tests/storage/", "tests/workers/planners/", "tests/workers/runs", "tests/ops/hooks"},
      {"tests/faults", "tests/workers/", "tests/ops/http"},
      {"tests/ops/"},
      {"tests/"}}},
};

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
  expect_fault(room_faults, source("tests/storage/a.cpp", "#include \"tests/storage/limits/windows.hpp\""));
  expect_fault(room_faults, source("tests/ops/hooks/a.cpp", "#include \"tests/ops/http/a.hpp\""));
  expect_none(room_faults, source("tests/storage/limits/a.cpp", "#include \"tests/storage/store_test.hpp\""));
  expect_none(room_faults, source("storage/proof/a.cpp", "#include \"storage/postgres/rows.hpp\""));
  expect_none(room_faults, source("workers/runtime/a.cpp", "#include \"workers/session/session.hpp\""));
  expect_none(room_faults, source("workers/planners/plan_runner/a.cpp",
                                  "#include \"workers/planners/plan_decomposer/outline.hpp\""));
  expect_clean(room_faults);
}

// The rooms of a page's table "Room", from above: "`http/access`, `bodies`" are two of one row.
std::vector<std::string> rooms_of_page(const Source& page) {
  static const std::regex row("^\\| (`[^|]*`) \\|"), name("`([\\w/]*\\w)/?`");
  std::vector<std::string> rooms;
  auto line = std::find_if(page.lines.begin(), page.lines.end(),
                           [](const std::string& one) { return one.starts_with("| Room |"); });
  for (; line != page.lines.end() && line->starts_with('|'); ++line) {
    std::smatch first;
    if (!std::regex_search(*line, first, row)) continue;
    const std::string names = first[1];
    std::string folder = folder_of(page) + "/";
    for (std::sregex_iterator found(names.begin(), names.end(), name), end; found != end; ++found) {
      const std::string room = folder + found->str(1);
      rooms.push_back(room);
      folder = room.substr(0, room.rfind('/') + 1);
    }
  }
  return rooms;
}

// A page says that its table is in the order of includes; names that are no rooms count as none.
Faults rooms_out_of_order(const Source& page) {
  const Floors& floors = house.at(folder_of(page));
  Faults faults;
  int highest = 0;
  for (const std::string& room : rooms_of_page(page)) {
    const int floor = floor_of(floors, room);
    if (floor >= 0 && floor < highest) faults.push_back(page.path + ": " + room + " stands below what includes it");
    highest = std::max(highest, floor);
  }
  return faults;
}

TEST(Tidy, pages_list_rooms_in_the_order_of_their_includes) {
  const std::string head = "| Room | Holds |\n|---|---|\n";
  EXPECT_EQ(rooms_of_page(source("ops/README.md", head + "| `http/`, `bench/rig`, `api` | a `b` |\n")),
            (std::vector<std::string>{"ops/http", "ops/bench/rig", "ops/bench/api"}));
  expect_fault(rooms_out_of_order, source("ops/README.md", head + "| `http/` | a |\n| `http/streams` | b |\n"));
  expect_none(rooms_out_of_order, source("ops/README.md", head + "| `http/streams` | b |\n| `http/` | a |\n"));
  for (const char* page : {"ops/README.md", "workers/README.md"}) {
    ASSERT_FALSE(rooms_of_page(*find_source(all_sources(), page)).empty()) << page;
    expect_none(rooms_out_of_order, *find_source(all_sources(), page));
  }
}

// A unit is a header and its source.
std::string unit_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

using Includes = std::map<std::string, std::set<std::string>>;  // of each unit, by its path without an ending

Includes includes_of_units(const Sources& sources) {
  static const std::regex include("^\\s*#\\s*include\\s*\"([^\"]+)\"");
  Includes includes;
  for (const Source& source : sources) {
    const std::string unit = unit_of(source.path);
    std::smatch match;
    for (const std::string& line : source.lines)
      if (is_cpp(source) && std::regex_search(line, match, include) && unit_of(match[1]) != unit)
        includes[unit].insert(unit_of(match[1]));
  }
  return includes;
}

// True if one of the ways on from `unit` leads back to it, or to another unit of the way: `way` then is that circle.
bool leads_back(const Includes& includes, const std::string& unit, Faults& way, std::set<std::string>& leads_out) {
  if (leads_out.contains(unit)) return false;
  if (const auto met = std::find(way.begin(), way.end(), unit); met != way.end()) {
    way.erase(way.begin(), met);
    return true;
  }
  way.push_back(unit);
  const auto included = includes.find(unit);
  if (included != includes.end())
    for (const std::string& next : included->second)
      if (leads_back(includes, next, way, leads_out)) return true;
  way.pop_back();
  leads_out.insert(unit);
  return false;
}

// The first circle that is met: units that include each other are one idea in several places.
Faults circle_of_units(const Sources& sources) {
  const Includes includes = includes_of_units(sources);
  Faults way;
  std::set<std::string> leads_out;
  for (const auto& [unit, included] : includes)
    if (leads_back(includes, unit, way, leads_out)) return way;
  return {};
}

TEST(Tidy, no_units_include_each_other_in_a_circle) {
  const Sources pair = {source("ops/a.hpp", "#include \"ops/b.hpp\""), source("ops/b.cpp", "#include \"ops/a.hpp\"")};
  EXPECT_EQ(circle_of_units(pair), (Faults{"ops/a", "ops/b"}));
  const Sources three = {source("ops/a.hpp", "#include \"ops/b.hpp\""), source("ops/b.cpp", "#include \"ops/c.hpp\""),
                         source("ops/c.cpp", "#include \"ops/d.hpp\"\n#include \"ops/b.hpp\"")};
  EXPECT_EQ(circle_of_units(three), (Faults{"ops/b", "ops/c"}));
  EXPECT_TRUE(circle_of_units({pair.front(), source("ops/b.cpp", "#include \"ops/b.hpp\"")}).empty());
  const auto faults = circle_of_units(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

constexpr std::size_t units_max = 20;  // a header and its source are one unit, and a.mjs and a.test.mjs
// The bound of pages: each is read for itself, and found by the table of ops/guide/README.md, which groups them. Their
// addresses are promises: a page that moved would break the links of others.
constexpr std::size_t pages_max = 30;

// "ops/a.test.mjs" is of the unit "ops/a".
std::string unit_in_room(const std::string& path) { return path.substr(0, path.find('.', path.rfind('/') + 1)); }

// Room -> how many units it may hold, where that is more. The engine stays flat: its units are the rules of one thing,
// and its page names them from the ground up. The bound is today's 72, rounded up: to go beyond it is a decision.
const std::map<std::string, std::size_t> wide_rooms = {{"engine", 75}};

std::size_t units_max_of(const std::string& room) {
  const auto wide = wide_rooms.find(room);
  return wide == wide_rooms.end() ? units_max : wide->second;
}

// One fault for each room that has become a list. Migrations and decisions only grow. The programs in ops itself have
// no ending: people call them by these names.
Faults full_rooms(const Sources& sources) {
  static const std::regex unit("\\.(cpp|hpp|sql|mjs|ts|tsx|py)$");
  std::map<std::string, std::set<std::string>> units, pages;
  for (const Source& source : sources) {
    const std::string room = room_of(source.path);
    if (std::regex_search(source.path, unit) && room != "schema/migrations")
      units[room].insert(unit_in_room(source.path));
    if (ends_with(source.path, ".md") && room != "ops/decisions") pages[room].insert(source.path);
  }
  Faults faults;
  const auto add_full = [&faults](const std::string& room, std::size_t found, std::size_t most, const char* what) {
    if (found > most)
      faults.push_back(room + ": Expected at most " + std::to_string(most) + " " + what + " in a room, but found " +
                       std::to_string(found));
  };
  for (const auto& [room, names] : units) add_full(room, names.size(), units_max_of(room), "units");
  for (const auto& [room, names] : pages) add_full(room, names.size(), pages_max, "pages");
  return faults;
}

TEST(Tidy, rooms_are_no_lists) {
  Sources many;
  for (std::size_t n = 0; n <= units_max; ++n) many.push_back(source("ops/a" + std::to_string(n) + ".cpp", ""));
  EXPECT_EQ(full_rooms(many).size(), 1u);
  many.pop_back();
  many.push_back(source("ops/a0.hpp", ""));
  EXPECT_TRUE(full_rooms(many).empty());
  many.push_back(source("ops/a0.test.mjs", ""));
  EXPECT_TRUE(full_rooms(many).empty());
  for (const char* path : {"ops/b.test.mjs", "ops/b.ts", "ops/b.tsx", "ops/b.py"}) {
    many.push_back(source(path, ""));
    EXPECT_EQ(full_rooms(many).size(), 1u) << path;
    many.pop_back();
  }
  Sources flat;
  for (std::size_t n = 0; n < wide_rooms.at("engine"); ++n)
    flat.push_back(source("engine/a" + std::to_string(n) + ".cpp", ""));
  EXPECT_TRUE(full_rooms(flat).empty());
  flat.push_back(source("engine/b.cpp", ""));
  EXPECT_EQ(full_rooms(flat).size(), 1u);
  Sources pages;
  for (std::size_t n = 0; n <= pages_max; ++n) pages.push_back(source("ops/guide/a" + std::to_string(n) + ".md", ""));
  EXPECT_EQ(full_rooms(pages).size(), 1u);
  pages.pop_back();
  EXPECT_TRUE(full_rooms(pages).empty());
  const auto faults = full_rooms(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

// --- engine --------------------------------------------------------------------------------------------------------

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

// --- seams ---------------------------------------------------------------------------------------------------------

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

}  // namespace
}  // namespace cairn::testing
