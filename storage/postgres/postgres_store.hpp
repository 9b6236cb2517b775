// The store in PostgreSQL 15. The one place that knows it. Safe from any thread.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "storage/store.hpp"

namespace cairn {

// Told of each batch that was written or refused, by the thread that gave it.
using CommitWatch = std::function<void(std::span<const Entry>, std::span<const Verdict>)>;

struct PostgresOptions {
  std::string dsn;          // libpq connection string or URL; "" takes libpq's variables
  int connections_max = 4;  // opened when needed
  bool notify = true;       // wake-ups by NOTIFY; off: polling alone
  bool prepared = true;     // off for poolers that cannot keep prepared statements
  std::string application = "cairn";
  std::int64_t patience_ms = 10'000;  // how long a database that fails is asked again
  CommitWatch committed = {};
};

// Connects, checks the schema version. Refuses `unavailable` (no database), `unsupported` (a newer schema),
// `not_found` (no schema yet: run migrate).
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

struct MigrateReport {
  int from = 0;  // schema version found; 0: none
  int to = 0;
  std::int32_t shards = 1;
};

// Creates or moves the schema `cairn` forward; `shards` counts for the first migration alone (0: leave or 1).
// Runs in one transaction under a lock; several may call it at once. Refuses `unavailable`, `unsupported` (newer
// schema), `conflict` (another number of shards than the schema has).
Result<MigrateReport> migrate(const std::string& dsn, std::int32_t shards);

}  // namespace cairn
