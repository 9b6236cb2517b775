#include "storage/postgres/statements.hpp"

#include <algorithm>
#include <map>

#include "engine/embedded.hpp"
#include "engine/result.hpp"

namespace cairn {
namespace {

constexpr std::string_view statements_folder = "statements/";
constexpr std::string_view parts_folder = "statements/parts/";

// The text of schema/statements/parts/NAME.sql.
std::string_view part_named(std::string_view name) {
  const std::string file_name = std::string(parts_folder) + std::string(name) + ".sql";
  for (const EmbeddedFile& file : schema_files())
    if (file.name == file_name) return file.text;
  CHECK(false);
}

// Each line "-- part NAME" stands for the lines of that part, which several statements or parts have in common.
std::string with_parts(std::string_view text) {
  constexpr std::string_view mark = "-- part ";
  std::string whole;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(mark))
      whole += with_parts(part_named(line.substr(mark.size())));
    else
      whole += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
  return whole;
}

std::map<std::string, PgStatement, std::less<>> load_statements() {
  constexpr std::string_view ending = ".sql";
  std::map<std::string, PgStatement, std::less<>> statements;
  for (const EmbeddedFile& file : schema_files()) {
    if (!file.name.starts_with(statements_folder) || !file.name.ends_with(ending)) continue;
    if (file.name.starts_with(parts_folder)) continue;
    const std::size_t start = file.name.rfind('/') + 1;
    const std::string name(file.name.substr(start, file.name.size() - start - ending.size()));
    const bool is_new = statements.emplace(name, PgStatement{name, with_parts(file.text)}).second;
    CHECK(is_new);  // one statement has one name, whatever its folder
  }
  return statements;
}

}  // namespace

const PgStatement& statement(std::string_view name) {
  static const std::map<std::string, PgStatement, std::less<>> statements = load_statements();
  const auto found = statements.find(name);
  CHECK(found != statements.end());
  return found->second;
}

const PgStatement& begin_statement() {
  static const PgStatement begin{"begin", "BEGIN"};
  return begin;
}
const PgStatement& commit_statement() {
  static const PgStatement commit{"commit", "COMMIT"};
  return commit;
}
const PgStatement& rollback_statement() {
  static const PgStatement rollback{"rollback", "ROLLBACK"};
  return rollback;
}

}  // namespace cairn
