// The migrator: moves the schema forward while workers and commands use it, or says how it would. Safe from any thread
// and from several processes at once.
//
// Each migration is a transaction of its own, so that no lock is held longer than one of them takes. It asks for its
// locks for a fraction of a second, because all that come after it wait behind it; then it lets the others pass
// and tries again later. An index on a table that is in use is built while its writers go on (`create index
// concurrently`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/result.hpp"
#include "storage/postgres/schema.hpp"

namespace cairn {

struct MigrateReport {
  int from = 0;  // schema version found; 0: none
  int to = 0;
  std::int32_t shards = 1;
};

struct LockPatience {
  std::int64_t each_ms = 300;     // how long one attempt waits for a lock
  std::int64_t all_ms = 600'000;  // how long one migration is attempted
};

// Creates the schema, in one transaction, or moves it forward. `shards` counts for the first migration alone (0: leave,
// or 1). The steps that were reached stay: the same call goes on from there. Refuses `unavailable` (no database; a lock
// that could not be had, and the sentence says who has it), `unsupported` (a newer schema), `invalid` (another encoding
// than UTF8), `conflict` (another number of shards than the schema has).
Result<MigrateReport> migrate(const std::string& dsn, std::int32_t shards, const LockPatience& patience = {});

struct MigrationCheck {
  int version = 0;  // 0: no schema
  int newest = 0;   // of this program
  std::int32_t shards = 1;
  std::vector<Migration> missing;  // that migrate() would run, in order
};

// Finds out what migrate() would do, and writes nothing. Refuses as it does.
Result<MigrationCheck> check_migrations(const std::string& dsn);
// The same for a database that does not exist yet.
MigrationCheck nothing_migrated();

// Whether the migration runs outside of a transaction: it builds one index while the table's writers go on.
bool is_built_beside_writers(const Migration& migration);

}  // namespace cairn
