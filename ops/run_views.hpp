// Runs as JSON, in the one form that the command line and the API show. Not thread-safe.
#pragma once

#include <vector>

#include "ops/commands.hpp"
#include "workers/client.hpp"

namespace cairn {

Json run_json(const RunRow& row);

// The state at that moment. Refuses as Client::state and Client::seq_at.
Result<RunState> state_at(Client& client, const RunId& run, const Moment& at);

inline constexpr std::int32_t events_page = 1'000;
struct EventsWanted {
  std::int64_t after = 0;
  std::int32_t limit = events_page;
  bool raw = false;  // large values stay references to their blobs
};
// One for each event. Refuses `not_found`, `unsupported`.
Result<std::vector<Json>> event_lines(Client& client, const RunId& run, Shard shard, const EventsWanted& wanted);

// Nothing can come behind event `seq`: the run has ended, or is gone.
bool has_ended_by(Store& store, const RunId& run, std::int64_t seq);

}  // namespace cairn
