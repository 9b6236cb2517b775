// The embedded PostgreSQL server: a private cluster in a data directory, on a unix socket only, run as an unprivileged
// user. The first command that needs it starts it; it keeps running until `cairn down`. Safe from several processes at
// once (a lock file in the directory) and from any thread.
#pragma once

#include <string>

#include "engine/result.hpp"

namespace cairn {

struct Cluster {
  std::string directory;
  std::string dsn;       // for a superuser of the private cluster
  bool started = false;  // by this call
};

// Makes the directory and runs initdb if it is empty, starts the server unless it runs, waits until it answers, and
// creates the database `cairn`. When the caller is root, files belong to the unprivileged user `postgres` (or to the
// owner of an existing data directory) and the server runs as that user.
// Refuses `invalid` (a directory that holds something else), `unavailable` (no server program, no start: the last
// lines of its log are in the sentence), `unsupported` (data of another major version).
Result<Cluster> start_cluster(const std::string& directory);

// Stops it (fast shutdown) and waits. Refuses `not_found` if none runs there.
Status stop_cluster(const std::string& directory);

// True if the directory holds a cluster.
bool is_cluster(const std::string& directory);

// The cluster if its server runs; otherwise refuses.
Result<Cluster> find_cluster(const std::string& directory);

}  // namespace cairn
