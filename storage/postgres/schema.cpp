#include "storage/postgres/schema.hpp"

#include <charconv>

#include "engine/embedded.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/dsn.hpp"

namespace cairn {
namespace {

std::string_view schema_file(std::string_view name) {
  for (const EmbeddedFile& file : schema_files()) {
    if (file.name == name) return file.text;
  }
  CHECK(false);
}

}  // namespace

std::vector<Migration> migrations() {
  constexpr std::string_view folder = "migrations/";
  std::vector<Migration> found;
  for (const EmbeddedFile& file : schema_files()) {
    if (!file.name.starts_with(folder)) continue;
    const std::string_view name = file.name.substr(folder.size());
    Migration migration;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), migration.number);
    CHECK(read.ec == std::errc{} && *read.ptr == '_' && name.ends_with(".sql"));
    migration.name = name.substr(static_cast<std::size_t>(read.ptr - name.data()) + 1);
    migration.name.remove_suffix(4);
    migration.text = file.text;
    CHECK(found.empty() ? migration.number == 1 : migration.number > found.back().number);
    found.push_back(migration);
  }
  return found;
}

std::string_view embedded_login() { return schema_file("embedded_login.sql"); }

std::string_view limit_notes() { return schema_file("limit_notes.sql"); }

int newest_schema() { return migrations().back().number; }

// The first of two numbers, or of three before version 10, are the major version.
Status check_server_version(std::int64_t version) {
  if (version >= server_version_min) return Done{};
  const std::string minor = std::to_string(version >= 100'000 ? version % 10'000 : version / 100 % 100);
  return Error{Code::unavailable, "Expected a server of PostgreSQL " + std::to_string(server_version_min / 10'000) +
                                      " or newer, but found " + std::to_string(version / 10'000) + "." + minor + "."};
}

Result<SchemaFound> find_schema(Administration& database) {
  const std::string owner = database.query("has_schema").text(0, 0);
  if (owner == "nobody") return SchemaFound{};
  if (owner == "empty") return SchemaFound{.is_empty = true};
  if (owner != "cairn")
    return Error{Code::conflict, "Expected a schema cairn of Cairn's own, but the database has another of that name."};
  const AdminRows rows = database.query("schema_version");
  rows.expect_columns({"", ""});
  const SchemaFound found{static_cast<int>(rows.number(0, 0)), static_cast<std::int32_t>(rows.number(0, 1))};
  if (found.version == 0)
    return Error{Code::corrupt, "Expected the schema cairn to say its version, but its table migration is empty."};
  if (found.version > newest_schema()) {
    return Error{Code::unsupported, "Expected a schema of at most version " + std::to_string(newest_schema()) +
                                        ", but the database has version " + std::to_string(found.version) + "."};
  }
  return found;
}

std::vector<SessionAtWork> sessions_at_work(Administration& database, std::int64_t silence_ms) {
  const AdminRows rows = database.query("sessions_at_work", {std::to_string(silence_ms)});
  rows.expect_columns({"session", "host", "pid", ""});
  std::vector<SessionAtWork> found;
  for (std::size_t row = 0; row < rows.size(); ++row)
    found.push_back({rows.number(row, 0), rows.text(row, 1), rows.number(row, 2), rows.text(row, 3)});
  return found;
}

Error takes_no_writes(const std::string& dsn) {
  const std::string name = public_dsn(dsn);
  return {Code::unavailable, "Expected a server that takes writes, but the one at " +
                                 (name.empty() ? "the address of libpq's variables" : name) +
                                 " is a replica, in recovery: name its primary, or all hosts and "
                                 "target_session_attrs=read-write."};
}

}  // namespace cairn
