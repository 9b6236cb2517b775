// Small graphs, handlers that go with them, and stores to run them on: for tests of the runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/store.hpp"
#include "workers/catalogue.hpp"
#include "workers/client.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn::test {

// Handlers: t.ok (effect, leaves by "ok"), t.pure (pure, counts into the channel "count"), t.plan (opens the sub-goals
// of its "with"), t.collect (pure, the plan's outputs into "results"), t.fail (fails until attempt "with.until"),
// t.throw, t.hang (until it is cancelled), t.bulk (leaves "with.bytes" letters), t.measure (the length of what t.bulk
// left), t.never (not registered anywhere). Tools: echo, sleep, fail.
std::unique_ptr<Catalogue> small_catalogue();

// Graphs by name: linear, mixed, fan, map, ask, wait, call, child, slow, retry, thrown, bulk, lacking.
Json small_graph(const std::string& name);

// All of them in the store, and a client that knows them.
std::unique_ptr<Client> client_with_graphs(Store& store, const Catalogue& catalogue);

// The run's events without what may differ from one execution to another: times, workers, ids of runs.
std::string history_text(Client& client, const RunId& run);

}  // namespace cairn::test
