// Tidy rules of names: types, files, migrations and the top folders.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "tests/tidy/sources.hpp"

namespace cairn::testing {
namespace {

const std::set<std::string>& product() {
  static const std::set<std::string> folders = {"engine", "storage", "workers", "ops"};
  return folders;
}

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
  std::erase_if(others, [](const Source& s) { return s.path == "tests/tidy/names_test.cpp"; });
  const auto faults = faults_of(name_faults, others);
  EXPECT_TRUE(faults.empty()) << joined(faults);
}

// To look was to scan, to poll, to search, to probe and to check, in the names of functions, types and values; only the
// page tools have eyes. To look up stays. The same holds for verbs of telling: report, leave, hold; and a queue with
// limits is limited.
Faults look_faults(const Source& source) {
  static const std::regex looks(
      "^[^/\"]*\\b(tells?|tells?_\\w+|told|\\w+_told|told_\\w+|came|wake|says|is_bound)\\(|"
      "^[^/\"]*\\b(?!\\w*(?:lookup|LookedUp|looked_up|looks_like|looks_encoded))\\w*[Ll]ook\\w*|"
      "\\b(class|struct)\\s+\\w*(Telling|Told)\\b");
  if (!is_cpp(source) || !product().contains(folder_of(source)) || source.path.starts_with("workers/tools/page/"))
    return {};
  return lines_with(source, looks, "a verb with several meanings: ");
}

TEST(Tidy, verbs_have_one_meaning) {
  expect_fault(look_faults, source("ops/a.cpp", "  void look_at_server(int port);"));
  expect_fault(look_faults, source("storage/a.hpp", "struct NextLook {"));
  expect_fault(look_faults, source("ops/a.cpp", "constexpr long look_again_ms = 2;"));
  expect_fault(look_faults, source("workers/a.hpp", "  bool is_looking_ = false;"));
  expect_fault(look_faults, source("workers/a.cpp", "std::string columns_told(const Json& table) {"));
  expect_fault(look_faults, source("workers/a.hpp", "  std::string says() const;"));
  expect_fault(look_faults, source("storage/a.hpp", "  bool is_bound() const;"));
  expect_none(look_faults, source("storage/a.hpp", "  int row;  // one look(), and more"));
  expect_none(look_faults, source("storage/a.cpp", "  const bool known = metadata_lookup(looked_up.key);"));
  expect_clean(look_faults);
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

// Two types of one name in one namespace share their inline functions, and the linker takes either: each type has a
// name of its own, unless it is a file's own.
Faults twins(const Sources& sources) {
  static const std::regex type("^(?:struct|class|enum class|enum) (\\w+)(?: final)?(?: :.*)? \\{");
  std::map<std::string, std::string> first;
  Faults faults;
  for (const Source& source : sources) {
    if (!is_cpp(source) || !product().contains(folder_of(source))) continue;
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

}  // namespace
}  // namespace cairn::testing
