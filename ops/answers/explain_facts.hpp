// The facts that `explain` judges, read from the database. Not thread-safe.
#pragma once

#include <string>

#include "ops/answers/explain.hpp"
#include "workers/client.hpp"

namespace cairn {

struct Explained {
  RunState state;
  Situation situation;
};

// The state, with the whole text of its questions, and the jobs of the same moment: both are read again if the run
// moved in between. Refuses as Client::state.
// `dsn` "": the jobs before a waiting one are not counted.
Result<Explained> read_explained(Client& client, Store& store, const std::string& dsn, const RunId& run);

// {"run", "status", "reasons"}
Json explained_json(const Explained& explained);

}  // namespace cairn
