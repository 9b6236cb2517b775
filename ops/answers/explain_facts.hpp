// What `explain` needs beside the state, read from the database. Not thread-safe.
#pragma once

#include <string>

#include "ops/answers/explain.hpp"
#include "workers/client.hpp"

namespace cairn {

struct Explained {
  RunState state;
  Situation situation;
};

// State, with the whole text of its questions, and jobs of the same moment: read again while the run moves in between.
// Refuses as Client::state.
Result<Explained> look_at(Client& client, Store& store, const std::string& dsn, const RunId& run);

// {"run", "status", "reasons"}
Json explained_json(const Explained& explained);

}  // namespace cairn
