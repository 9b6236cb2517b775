#include "storage/postgres/schema.hpp"

#include <algorithm>
#include <charconv>

#include "engine/embedded.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/dsn.hpp"

namespace cairn {
namespace {

std::string_view schema_file(std::string_view name) {
  for (const EmbeddedFile& file : schema_files()) {
    if (file.name == name) return file.text;
  }
  CHECK(false);
}

// In the order of their names: views that others build on begin with a number.
void apply_views(Administration& database) {
  for (const EmbeddedFile& file : schema_files()) {
    if (file.name.starts_with("views/")) database.execute(std::string(file.text));
  }
}

// The first migration creates the schema, unless an operator has created it for a login that has no right to.
std::string without_creation(std::string text) {
  constexpr std::string_view creation = "create schema cairn;\n";
  const std::size_t at = text.find(creation);
  CHECK(at != std::string::npos);
  return text.erase(at, creation.size());
}

// Events hold any text: in another encoding the server would refuse some of it, and only when it comes.
Status check_encoding(Administration& database) {
  const std::string encoding = database.query("database_encoding").text(0, 0);
  if (encoding == "UTF8") return Done{};
  return Error{Code::invalid, "Expected a database in the encoding UTF8, but it is in " + encoding + "."};
}

// Inside the transaction that holds the lock.
Result<MigrateReport> migrate_locked(Administration& database, std::int32_t shards) {
  if (const Status fits = check_encoding(database); !fits) return fits.error();
  const Result<SchemaFound> found = find_schema(database);
  if (!found) return found.error();
  if (found->version > 0 && shards > 0 && shards != found->shards) {
    return Error{Code::conflict, "Expected a schema with " + std::to_string(shards) + " shards, but it has " +
                                     std::to_string(found->shards) + "; the number is chosen once."};
  }
  MigrateReport report{found->version, newest_schema(), found->version > 0 ? found->shards : std::max(shards, 1)};
  for (const Migration& migration : migrations()) {
    if (migration.number <= found->version) continue;
    std::string text(migration.text);
    database.execute(found->is_empty && migration.number == 1 ? without_creation(std::move(text)) : text);
    database.query("record_migration",
                   {std::to_string(migration.number), std::string(migration.name), std::to_string(report.shards)});
  }
  if (report.from < report.to) apply_views(database);
  database.execute(std::string(schema_file("roles.sql")));
  return report;
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

int newest_schema() { return migrations().back().number; }

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

Result<MigrateReport> migrate(const std::string& dsn, std::int32_t shards) {
  try {
    Administration database(dsn, "cairn migrate", no_limit);
    if (database.query("is_replica").boolean(0, 0)) return takes_no_writes(dsn);
    database.begin();
    database.query("lock_migrations");
    Result<MigrateReport> report = migrate_locked(database, shards);
    report ? database.commit() : database.roll_back();
    return report;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to migrate the database, but: ") + failure.what()};
  }
}

}  // namespace cairn
