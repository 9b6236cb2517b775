// What `explain` needs beside the state, read from the database. Not thread-safe.
#pragma once

#include <string>

#include "ops/explain.hpp"
#include "workers/client.hpp"

namespace cairn {

struct Seen {
  RunState state;
  Situation situation;
};

// State and jobs of the same moment: read again while the run moves in between. Refuses as Client::state.
Result<Seen> look_at(Client& client, Store& store, const std::string& dsn, const RunId& run);

// {"run", "status", "reasons"}
Json explained_json(const Seen& seen);

}  // namespace cairn
