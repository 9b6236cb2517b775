// The embedded PostgreSQL server: a private cluster in a data directory, on a unix socket only, run as an unprivileged
// user. The first command that needs it starts it; it keeps running until `cairn down`. Safe from several processes at
// once (a lock file in the directory) and from any thread.
//
// Two logins enter it. `postgres` owns everything and is asked for a password, which stands in the file owner.pass of
// the directory (0600; libpq reads it). `cairn` needs none and has the rights of the role cairn_app: workers and
// commands use it. A program that may write in the directory, as one of the server's own user may, can become the
// owner all the same.
#pragma once

#include <optional>
#include <string>

#include "engine/result.hpp"
#include "storage/server/cluster_parts.hpp"

namespace cairn {

struct Cluster {
  std::string directory;
  std::string dsn;        // of the login cairn, once let_commands_in() was called
  std::string owner_dsn;  // of the owner, a superuser: to migrate, archive, make databases
  bool started = false;   // by this call
  // Why a server whose programs were replaced was left running: the sentence with which it would not start again. "":
  // it would, or nothing was replaced.
  std::string not_renewed = {};
};

// Makes the directory and runs initdb if it is empty, starts the server unless it runs, waits until it answers, and
// creates the database `cairn`. When the caller is root, files belong to the unprivileged user `postgres` (or to the
// owner of an existing data directory) and the server runs as that user. A server whose programs on disk were replaced
// is started again if no one is connected and the programs that are there fit its data.
// Refuses `invalid` (a directory that holds something else), `unavailable` (no server program, no start: the last
// lines of its log are in the sentence; a socket folder that others made), `unsupported` (data of another major
// version).
Result<Cluster> start_cluster(const std::string& directory, const std::optional<Recovery>& recovery = {});

// Makes the login `cairn` and gives it the rights of cairn_app. REQUIRES: the database is migrated.
Status let_commands_in(const Cluster& cluster);

// Stops it (fast shutdown) and waits. Refuses `not_found` if none runs there.
Status stop_cluster(const std::string& directory);

// True if stop_cluster() ended its server and it was not started since.
bool was_stopped(const std::string& directory);

// Makes a folder with the data of a server a cluster of ours. False if it cannot be written.
bool mark_cluster(const std::string& directory);

// True if the directory holds a cluster.
bool is_cluster(const std::string& directory);

// The cluster if its server runs, without connecting to it; otherwise refuses. Writes nothing.
Result<Cluster> find_cluster(const std::string& directory);

// True if the running server was started from programs that are no longer on the disk, as after an upgrade of the
// package: what it loads later may not fit it.
bool has_older_programs(const std::string& directory);

// The number that initdb gave to the data, and which it keeps when it is moved; nothing if there is none.
std::optional<std::uint64_t> system_identifier(const std::string& directory);

}  // namespace cairn
