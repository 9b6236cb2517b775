// A private PostgreSQL cluster of our own in a data directory: unix socket only, run as an unprivileged user, started
// by the first command that needs it, left running, stopped by `cairn down`. Safe from several processes at once (a
// lock file in the directory). Safe from any thread.
#pragma once

#include <string>

#include "engine/result.hpp"

namespace cairn {

struct Cluster {
  std::string directory;
  std::string dsn;       // for a superuser of the private cluster
  bool started = false;  // by this call
};

// Makes the directory and initdb if it is empty, starts the server if it does not run, waits until it answers, and
// creates the database `cairn`. When the caller is root, files belong to the unprivileged user `postgres` (or to the
// owner of an existing data directory) and the server runs as that user.
// Refuses `invalid` (a directory that holds something else), `unavailable` (no server program, no start: the last
// lines of its log are in the sentence), `unsupported` (data of another major version).
Result<Cluster> start_cluster(const std::string& directory);

// Stops it (fast shutdown) and waits. Refuses `not_found` if none runs there.
Status stop_cluster(const std::string& directory);

// Whether the directory holds one.
bool is_cluster(const std::string& directory);

// The DSN if it is running, else nothing.
Result<Cluster> find_cluster(const std::string& directory);

}  // namespace cairn
