#include <algorithm>
#include <charconv>

#include "engine/embedded.hpp"
#include "storage/postgres_store.hpp"
#include "storage/schema.hpp"

namespace cairn {
namespace {

std::string_view schema_file(std::string_view name) {
  for (const EmbeddedFile& file : schema_files()) {
    if (file.name == name) return file.text;
  }
  CHECK(false);
}

void apply_views(PgConnection& connection) {
  for (const EmbeddedFile& file : schema_files()) {
    if (file.name.starts_with("views/")) connection.execute(file.text);
  }
}

// Inside the transaction that holds the lock.
Result<MigrateReport> migrate_locked(PgConnection& connection, std::int32_t shards) {
  const Result<SchemaFound> found = find_schema(connection);
  if (!found) return found.error();
  if (found->version > 0 && shards > 0 && shards != found->shards) {
    return Error{Code::conflict, "Expected a schema with " + std::to_string(shards) + " shards, but it has " +
                                     std::to_string(found->shards) + "; the number is chosen once."};
  }
  MigrateReport report{found->version, newest_schema(), found->version > 0 ? found->shards : std::max(shards, 1)};
  for (const Migration& migration : migrations()) {
    if (migration.number <= found->version) continue;
    connection.execute(migration.text);
    PgParameters row;
    row.add(std::int32_t{migration.number}).add(migration.name).add(report.shards);
    connection.query(statement("record_migration"), row);
  }
  if (report.from < report.to) apply_views(connection);
  connection.execute(schema_file("roles.sql"));
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
    found.push_back(migration);
    CHECK(migration.number == static_cast<int>(found.size()));
  }
  return found;
}

int newest_schema() { return static_cast<int>(migrations().size()); }

Result<SchemaFound> find_schema(PgConnection& connection) {
  if (!connection.query(statement("has_schema")).boolean(0, 0)) return SchemaFound{};
  const PgResult rows = connection.query(statement("schema_version"));
  const SchemaFound found{rows.int4(0, 0), rows.int4(0, 1)};
  if (found.version > newest_schema()) {
    return Error{Code::unsupported, "Expected a schema of at most version " + std::to_string(newest_schema()) +
                                        ", but the database has version " + std::to_string(found.version) + "."};
  }
  return found;
}

Result<MigrateReport> migrate(const std::string& dsn, std::int32_t shards) {
  try {
    PgConnection connection({dsn, "cairn migrate", false});
    connection.execute("BEGIN");
    connection.query(statement("lock_migrations"));
    Result<MigrateReport> report = migrate_locked(connection, shards);
    connection.execute(report ? "COMMIT" : "ROLLBACK");
    return report;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected to migrate the database, but: ") + failure.what()};
  }
}

}  // namespace cairn
