#include "storage/postgres/single_row.hpp"

#include <map>
#include <mutex>
#include <regex>

#include "engine/result.hpp"

namespace cairn {
namespace {

// unnest($2::uuid[], $3::int[]) becomes (values ($2::uuid, $3::int)). The means that hide the number of rows from the
// planner (offset 0, the array around the shard; see lock_runs.sql) are removed: a single row can only be joined by its
// keys.
std::string of_one(const std::string& text) {
  static const std::regex rows(R"(unnest\(((?:\$\d+::\w+\[\],?\s*)+)\))");
  static const std::regex array(R"(\[\])");
  static const std::regex fence(R"(\s+offset 0\))");
  static const std::regex shard(R"(any \(array\[u\.shard\]\))");
  std::smatch found;
  CHECK(std::regex_search(text, found, rows));
  const std::string values = "(values (" + std::regex_replace(found.str(1), array, "") + "))";
  const std::string one = found.prefix().str() + values + found.suffix().str();
  return std::regex_replace(std::regex_replace(one, fence, ")"), shard, "u.shard");
}

}  // namespace

bool fits_one_row(const PgArray& column) { return column.size() == 1; }
bool fits_one_row(std::optional<std::int64_t>) { return true; }

void add_to(PgParameters& parameters, const PgArray& column, bool is_one_row) {
  is_one_row ? parameters.add_only(column) : parameters.add(column);
}
void add_to(PgParameters& parameters, std::optional<std::int64_t> number, bool) {
  number ? parameters.add(*number) : parameters.add_null(PgType::int8);
}

const PgStatement& statement_of_one(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, PgStatement, std::less<>> made;
  const std::lock_guard lock(mutex);
  const auto known = made.find(name);
  if (known != made.end()) return known->second;
  const PgStatement& many = statement(name);
  return made.emplace(many.name, PgStatement{many.name + "_of_one", of_one(many.text)}).first->second;
}

}  // namespace cairn
