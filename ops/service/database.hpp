// The database that a command or the API works on: how it is chosen, reached and opened. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "engine/id.hpp"
#include "engine/result.hpp"
#include "ops/requests/requests.hpp"
#include "storage/postgres/postgres_store.hpp"
#include "storage/store.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/runtime/checkpointer.hpp"

namespace cairn {

// Either a given database, or a private cluster of this program in `directory`.
struct DatabaseChoice {
  std::string dsn;        // "" with no directory: libpq's variables name it
  std::string directory;  // "": not embedded
  bool is_quiet = false;  // for a program: nothing is said of a server that is started
  bool is_embedded() const { return !directory.empty(); }
};

// In this order: --dsn, --data, CAIRN_DSN, libpq's variables (PGHOST, PGHOSTADDR, PGDATABASE, PGSERVICE), CAIRN_DATA,
// $XDG_DATA_HOME/cairn, ~/.local/share/cairn. For root, whose home the server's own user may not enter, /var/lib/cairn.
DatabaseChoice choose_database(const Settings& settings);

// The DSN of the chosen database; an embedded one is started and migrated if necessary, and entered by the login cairn,
// which has the rights of cairn_app.
Result<std::string> reach_database(const DatabaseChoice& choice);
// The same for what needs more: making databases and logins, removing histories. An embedded one is entered as its
// owner, any other one by the login that was given.
Result<std::string> reach_as_owner(const DatabaseChoice& choice);
// As reach_as_owner; also for an embedded database that was given by its DSN, as `cairn up` gives it to its processes.
Result<std::string> reach_as_archivist(const DatabaseChoice& choice);

// An opened database with all that most commands need, and all graphs loaded. Every commit through it is signed, the
// last ones on destruction.
struct Opened {
  std::string dsn;
  std::unique_ptr<GatheredHeads> heads;
  std::unique_ptr<Store> store;
  std::unique_ptr<Catalogue> catalogue;
  std::unique_ptr<Client> client;
  std::unique_ptr<Checkpointer> checkpointer;
};

// Refuses `unavailable` (no database, or one without a schema: the sentence says what to do), `unsupported` (a newer
// schema), `invalid` or `not_found` (the tools file).
// `patience_ms`: how long its store asks a database again that does not answer.
Result<Opened> open_database(const Settings& settings, std::int64_t patience_ms = PostgresOptions().patience_ms);
inline constexpr int store_connections = 4;
// `committed` is called for each batch that the store commits.
Result<std::unique_ptr<Store>> open_store(const std::string& dsn, int connections_max = store_connections,
                                          CommitWatch committed = {});
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
