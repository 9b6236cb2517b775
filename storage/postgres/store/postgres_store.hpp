// The store in PostgreSQL 15, the product's. Safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "storage/store.hpp"

namespace cairn {

// Called with each batch and its verdicts, by the thread that committed it.
using CommitWatch = std::function<void(std::span<const Entry>, std::span<const Verdict>)>;

struct PostgresOptions {
  std::string dsn;          // libpq connection string or URL; "" takes libpq's variables
  int connections_max = 4;  // opened when needed
  bool notify = true;       // notifications by NOTIFY; off: polling alone
  bool prepared = true;     // off for poolers that cannot keep prepared statements
  std::string application = "cairn";
  std::int64_t patience_ms = 10'000;    // how long a failing database is asked again
  std::int64_t silence_min_ms = 1'000;  // so long a statement may be silent, whatever is left of the patience
  CommitWatch committed = {};
  std::string direct_dsn = {};                    // past a pooler, for notifications; "": CAIRN_DSN_DIRECT
  std::function<void()> found_replica = nullptr;  // called if the server is a replica; null: one is refused
};

// Connects and checks the schema's version. Refuses `unavailable` (no database, or a replica), `unsupported` (a newer
// schema), `not_found` (no schema yet: run migrate()), `invalid` (variables of the environment, see dsn.hpp). A store
// on a replica answers reads; it has no progress of steps (an unlogged table), receives no notifications, and what it
// is given to write throws StoreUnavailable.
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options);

}  // namespace cairn
