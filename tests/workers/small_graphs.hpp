// Small graphs and the handlers that they name, for tests of the runtime. Not thread-safe.
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

// Puts all of them into the store, and returns a client that has them loaded.
std::unique_ptr<Client> client_with_graphs(Store& store, const Catalogue& catalogue);

// The run's events without the parts that differ between executions: times, workers, run ids.
std::string history_text(Client& client, const RunId& run);

}  // namespace cairn::test
