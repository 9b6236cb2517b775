// Tidy rules of the pages that show the way: each names the rooms below its folder, and what else it is to list.
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

// The folders whose pages list the rooms, and the pages that list the units of a room.
const std::set<std::string> folders_with_rooms = {"storage", "workers", "ops", "schema"};
const std::map<std::string, std::string> listed_units = {{"engine", "engine/README.md"},
                                                         {"workers/runs", "workers/README.md"},
                                                         {"workers/session", "workers/README.md"},
                                                         {"workers/gateway", "workers/README.md"}};

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A page names a thing in back quotes: `name`, and of a room also `name/` or the end of its way, `http/name`.
std::string text_of_page(const Sources& sources, const std::string& path) {
  const Source* page = find_source(sources, path);
  return page == nullptr ? "" : text_of(*page);
}
bool names_unit(const std::string& page, const std::string& name) {
  return page.find("`" + name + "`") != std::string::npos;
}
bool names_room(const std::string& page, const std::string& name) {
  return std::regex_search(page, std::regex("`([\\w/]+/)?" + name + "/?`"));
}

Faults unnamed_rooms(const Sources& sources) {
  std::set<std::string> rooms;
  for (const Source& source : sources)
    if ((is_cpp(source) || ends_with(source.path, ".sql")) && folders_with_rooms.contains(folder_of(source)))
      rooms.insert(room_of(source.path));
  Faults faults;
  for (const std::string& room : rooms) {
    const std::string page = room.substr(0, room.find('/')) + "/README.md";
    if (!names_room(text_of_page(sources, page), last_part(room))) faults.push_back(page + ": does not name " + room);
  }
  return faults;
}

TEST(Tidy, each_room_is_named_on_the_page_of_its_folder) {
  const Source unit = source("storage/feed/a.hpp", "");
  EXPECT_EQ(unnamed_rooms({unit, source("storage/README.md", "the feed\n`feeds/`\n")}).size(), 1u);
  EXPECT_EQ(unnamed_rooms({unit}).size(), 1u);
  EXPECT_TRUE(unnamed_rooms({unit, source("storage/README.md", "`feed/`")}).empty());
  EXPECT_TRUE(unnamed_rooms({unit, source("storage/README.md", "`kept/feed`")}).empty());
  const Source sql = source("schema/statements/feed/a.sql", "");
  EXPECT_EQ(unnamed_rooms({sql, source("schema/README.md", "the feed\n")}).size(), 1u);
  EXPECT_TRUE(unnamed_rooms({sql, source("schema/README.md", "| `feed/` | events |")}).empty());
  const Faults faults = unnamed_rooms(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

Faults unnamed_units(const Sources& sources) {
  Faults faults;
  for (const Source& source : sources) {
    const auto listed = listed_units.find(room_of(source.path));
    if (listed == listed_units.end() || !is_header(source)) continue;
    const std::string name = last_part(source.path.substr(0, source.path.rfind('.')));
    const std::string page = text_of_page(sources, listed->second);
    if (!names_unit(page, name) && !names_unit(page, name + ".hpp"))
      faults.push_back(listed->second + ": does not name " + source.path);
  }
  return faults;
}

TEST(Tidy, each_unit_is_named_on_the_page_that_lists_them) {
  const Source unit = source("engine/a.hpp", "");
  EXPECT_EQ(unnamed_units({unit, source("engine/README.md", "a, `ab`")}).size(), 1u);
  EXPECT_TRUE(unnamed_units({unit, source("engine/README.md", "`ab`, `a`")}).empty());
  const Faults faults = unnamed_units(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

Faults unnamed_tables(const Sources& sources) {
  static const std::regex made("create (?:unlogged )?table (?:if not exists )?cairn\\.(\\w+)");
  const std::string page = text_of_page(sources, "schema/README.md");
  Faults faults;
  for (const Source& source : sources) {
    std::smatch table;
    if (room_of(source.path) != "schema/migrations") continue;
    for (const std::string& line : source.lines)
      if (std::regex_search(line, table, made) && !names_unit(page, table[1]))
        faults.push_back("schema/README.md: does not name the table " + table.str(1));
  }
  return faults;
}

TEST(Tidy, each_table_is_named_on_the_page_of_the_schema) {
  const Source migration = source("schema/migrations/0001_a.sql", "create table cairn.run (\n");
  EXPECT_EQ(unnamed_tables({migration, source("schema/README.md", "`runs`")}).size(), 1u);
  EXPECT_TRUE(unnamed_tables({migration, source("schema/README.md", "`run`")}).empty());
  const Faults faults = unnamed_tables(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

// Two screens: what it is, how it is tried, and where to read on; and a worker in each language.
Faults long_front_page(const Source& source) {
  constexpr std::size_t lines_max = 122, line_max = 200, row_max = 160;
  if (source.path != "README.md") return {};
  Faults faults;
  if (source.lines.size() > lines_max)
    faults.push_back(source.path + ": " + std::to_string(source.lines.size()) + " lines, but at most " +
                     std::to_string(lines_max) + ": details stand in ops/guide");
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const std::string& line = source.lines[i];
    const std::size_t bytes_max = line.starts_with("| ") ? row_max : line_max;
    if (line.size() > bytes_max)
      faults.push_back(fault_at(source, i, "more than " + std::to_string(bytes_max) + " bytes in a line"));
  }
  return faults;
}

TEST(Tidy, the_front_page_is_two_screens) {
  expect_fault(long_front_page, source("README.md", std::string(123, '\n')));
  expect_fault(long_front_page, source("README.md", "# A\n" + std::string(201, 'a') + "\n"));
  expect_fault(long_front_page, source("README.md", "| [a](a.md) | " + std::string(150, 'a') + " |\n"));
  expect_none(long_front_page, source("README.md", std::string(122, '\n')));
  expect_none(long_front_page, source("README.md", std::string(200, 'a') + "\n"));
  expect_none(long_front_page, source("ops/guide/http.md", std::string(143, '\n')));
  expect_clean(long_front_page);
}

// A reader's way in: each folder's page says where a change is made.
Faults pages_without_a_way_in(const Sources& sources) {
  Faults faults;
  for (const char* folder : {"engine", "storage", "workers", "ops", "schema", "tests"}) {
    const std::string path = std::string(folder) + "/README.md";
    if (text_of_page(sources, path).find("\n## Where to change what\n") == std::string::npos)
      faults.push_back(path + ": has no heading \"Where to change what\"");
  }
  return faults;
}

TEST(Tidy, each_folder_says_where_to_change_what) {
  Sources pages;
  for (const char* folder : {"engine", "storage", "workers", "ops", "schema", "tests"})
    pages.push_back(source(std::string(folder) + "/README.md", "# A\n\n## Where to change what\n"));
  EXPECT_TRUE(pages_without_a_way_in(pages).empty());
  pages.back() = source("tests/README.md", "# A\n\nWhere to change what\n");
  EXPECT_EQ(pages_without_a_way_in(pages).size(), 1u);
  const Faults faults = pages_without_a_way_in(all_sources());
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

}  // namespace
}  // namespace cairn::testing
