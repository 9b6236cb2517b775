// Which database a command works on, and how it is reached. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "engine/id.hpp"
#include "engine/result.hpp"
#include "storage/postgres/postgres_store.hpp"
#include "storage/store.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/runtime/checkpointer.hpp"

namespace cairn {

struct Settings;

// Either somebody's database or a private cluster of our own in `directory`.
struct DatabaseChoice {
  std::string dsn;        // "" with no directory: libpq's variables name it
  std::string directory;  // "": not embedded
  bool is_embedded() const { return !directory.empty(); }
};

// In this order: --dsn, --data, CAIRN_DSN, libpq's variables (PGHOST, PGHOSTADDR, PGDATABASE, PGSERVICE), CAIRN_DATA,
// $XDG_DATA_HOME/cairn, ~/.local/share/cairn. For root, whose home the server's own user may not enter, /var/lib/cairn.
DatabaseChoice choose_database(const Settings& settings);

// The DSN of the chosen database; an embedded one is started and migrated if it has to be.
Result<std::string> reach_database(const DatabaseChoice& choice);

// What most commands need, with all graphs loaded. What is committed through it is signed, the last of it at its end.
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
Result<Opened> open_database(const Settings& settings);
// `committed` is told of what it commits.
inline constexpr int store_connections = 4;
Result<std::unique_ptr<Store>> open_store(const std::string& dsn, int connections_max = store_connections,
                                          CommitWatch committed = {});
Result<std::unique_ptr<Catalogue>> open_catalogue(const Settings& settings);

// Where checkpoints are kept outside of the database: CAIRN_CHECKPOINTS, else "checkpoints" in the directory of an
// embedded database or in the default one. Signed with CAIRN_SIGNING_KEY, a file, or a key made there; each
// CAIRN_CHECKPOINT_MS (10000). Refuses `invalid` (that is no number above 0).
Result<CheckpointOptions> checkpoint_options(const DatabaseChoice& choice);

// "user:NAME" of who runs this program.
std::string current_actor();

// Refuses `not_found` for a text that is no id: no run has that name.
Result<RunId> run_argument(const std::string& text);

// An id that may be a run's, and the database to look in. Refuses as the two above.
struct OpenedRun {
  Opened opened;
  RunId run;
  Shard shard = 0;
};
Result<OpenedRun> find_run(const Settings& settings, const std::string& text);

}  // namespace cairn
