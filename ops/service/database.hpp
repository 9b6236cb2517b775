// The database that a command or the API works on: how it is chosen, reached and opened. Not thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/id.hpp"
#include "engine/result.hpp"
#include "ops/metrics/work_counts.hpp"
#include "ops/requests/requests.hpp"
#include "storage/postgres/reachable.hpp"
#include "storage/postgres/store/postgres_store.hpp"
#include "storage/store.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/runtime/checkpointer.hpp"

namespace cairn {

// Either a given database, or a private cluster of this program in `directory`.
struct DatabaseChoice {
  std::string dsn;            // "" with no directory: libpq's variables name it
  std::string directory;      // "": not embedded
  bool is_quiet = false;      // for a program: nothing is said of a server that is started
  bool may_lag = false;       // what is read may be a little old: a replica answers as well
  std::string read_dsn = {};  // the replica that is asked; "": the database itself
  bool is_checked = false;    // the replica is known to hold this database
  bool is_embedded() const { return !directory.empty(); }
};

// Whether the answers of this command may lag: it writes nothing, and what it shows was true a moment ago. All other
// commands are carried out by the server that takes writes.
bool may_lag(const std::string& command);

// The server that CAIRN_READ_DSN names. Refuses `invalid` a text that is no DSN, and `unavailable`: it does not answer,
// or it has another database than that of `identity`; nothing: any will do.
Result<ServerSeen> probe_read_replica(const std::string& read_dsn, const std::optional<std::string>& identity);

// CAIRN_READ_DSN; "" where there is none, or where --dsn or --data names the database: it is another one's then.
std::string named_replica(const Settings& settings);

// In this order: --dsn, --data, CAIRN_DSN, libpq's variables (PGHOST, PGHOSTADDR, PGDATABASE, PGSERVICE), CAIRN_DATA,
// $XDG_DATA_HOME/cairn, ~/.local/share/cairn. For root, whose home the server's own user may not enter, /var/lib/cairn.
// A command that may lag is answered by named_replica(), if there is one.
DatabaseChoice choose_database(const Settings& settings);

// The DSN of the chosen database; an embedded one is started and migrated if necessary, and entered by the login cairn,
// which has the rights of cairn_app. Refuses `unavailable` a replica that holds another database than the chosen one;
// where that one does not answer, stderr says which one the replica holds.
Result<std::string> reach_database(const DatabaseChoice& choice);
// The same for what needs more: making databases and logins, removing histories. An embedded one is entered as its
// owner, any other one by the login that was given.
Result<std::string> reach_as_owner(const DatabaseChoice& choice);
// As reach_as_owner; also for an embedded database that was given by its DSN, as `cairn up` gives it to its processes.
Result<std::string> reach_as_archivist(const DatabaseChoice& choice);

// An opened database with all that most commands need, and all graphs loaded. Every commit through it is signed, the
// last ones on destruction.
struct Opened {
  std::string dsn;          // "": there is no database, the store is in memory
  bool is_replica = false;  // nothing is written there: it is in recovery, or CAIRN_READ_DSN names it
  std::unique_ptr<GatheredHeads> heads;
  std::shared_ptr<WorkCounts> counts = std::make_shared<WorkCounts>();  // of what passes through the store
  std::unique_ptr<Store> store;
  std::unique_ptr<Catalogue> catalogue;
  std::unique_ptr<Client> client;
  std::unique_ptr<Checkpointer> checkpointer;  // null on a replica
};

// Refuses `unavailable` (no database, or one without a schema: the sentence says what to do), `unsupported` (a newer
// schema), `invalid` or `not_found` (the tools file).
// `patience_ms`: how long its store asks a database again that does not answer.
Result<Opened> open_database(const Settings& settings, std::int64_t patience_ms = PostgresOptions().patience_ms);
// The named_replica(), next to the opened database of that identity.
struct ReplicaFound {
  std::optional<Opened> opened = {};
  std::string away = {};  // why it cannot be read for now: it does not answer, or lags behind a migration
};
// Empty if none is named. Refuses another database (`unavailable`), and as open_database what does not pass.
Result<ReplicaFound> open_replica(const Settings& settings, const std::string& identity, std::int64_t patience_ms);
inline constexpr int store_connections = 4;
// `committed` is called for each batch that the store commits. It counts what passes as an opened database's does, so
// that a benchmark measures what a server pays.
Result<std::unique_ptr<Store>> open_store(const std::string& dsn, int connections_max = store_connections,
                                          CommitWatch committed = {});
// For reads alone: a replica will do, and sets `is_replica`.
Result<std::unique_ptr<Store>> open_store_to_read(const std::string& dsn, int connections_max, bool& is_replica);
Result<std::unique_ptr<Catalogue>> open_catalogue(const Settings& settings);

// Where checkpoints are kept outside of the database: CAIRN_CHECKPOINTS, else "checkpoints" in the directory of an
// embedded database or in the default one. They are signed with the key in the file CAIRN_SIGNING_KEY, or with one made
// next to that folder, every CAIRN_CHECKPOINT_MS (10000). Refuses `invalid`: CAIRN_CHECKPOINT_MS is no number above 0.
Result<CheckpointOptions> checkpoint_options(const DatabaseChoice& choice);

// Where `cairn up` keeps the logs of its processes: "logs" in the directory of an embedded database or in the default
// one.
std::string log_folder(const DatabaseChoice& choice);

// "user:NAME" of the user who runs this program.
std::string current_actor();

// A run and the opened database to read it from. Refuses as run_meant and open_database.
struct OpenedRun {
  Opened opened;
  RunId run;
  Shard shard = 0;
};
Result<OpenedRun> find_run(const Settings& settings, const std::string& text);

}  // namespace cairn
