#include "storage/postgres/shard_tables.hpp"

#include <utility>

namespace cairn {
namespace {

constexpr std::string_view schema_prefix = "cairn.";

bool is_of_name(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

PgStatement guard_of(std::int64_t citus_shard) {
  const std::string number = std::to_string(citus_shard);
  return {"hold_shard@" + number, "select cairn.hold_shard(" + number + ")"};
}

}  // namespace

ShardTables::ShardTables(std::map<std::string, std::int64_t, std::less<>> suffixes)
    : suffixes_(std::move(suffixes)), guard_(guard_of(suffixes_.at("run"))) {}

const PgStatement& ShardTables::renamed(const PgStatement& statement) const {
  const std::lock_guard lock(mutex_);
  const auto found = renamed_.find(statement.name);
  if (found != renamed_.end()) return found->second;
  std::string text = with_names(statement.text);
  // BEGIN, COMMIT and the like stay as they are, and one statement for all shards of a node.
  std::string name =
      text == statement.text ? statement.name : statement.name + "@" + std::to_string(suffixes_.at("run"));
  return renamed_.emplace(statement.name, PgStatement{std::move(name), std::move(text)}).first->second;
}

// Names of tables stand after the schema's, in no string and no comment that matters.
std::string ShardTables::with_names(std::string_view text) const {
  std::string named;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t schema = text.find(schema_prefix, at);
    if (schema == std::string_view::npos) return named.append(text.substr(at));
    const std::size_t begin = schema + schema_prefix.size();
    std::size_t end = begin;
    while (end < text.size() && is_of_name(text[end])) ++end;
    named.append(text.substr(at, end - at));
    const auto suffix = suffixes_.find(text.substr(begin, end - begin));
    if (suffix != suffixes_.end()) named.append("_").append(std::to_string(suffix->second));
    at = end;
  }
  return named;
}

}  // namespace cairn
