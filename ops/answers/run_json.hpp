// Runs, states and events as JSON, in the one form that the command line and the API show. Not thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "ops/requests/requests.hpp"
#include "workers/client.hpp"

namespace cairn {

Json run_json(const RunRow& row);

// The state at a moment (as-of read). Refuses as Client::state and Client::seq_at.
Result<RunState> state_at(Client& client, const RunId& run, const Moment& at);

inline constexpr std::int32_t events_page = 1'000;
struct EventsWanted {
  std::int64_t after = 0;
  std::int32_t limit = events_page;
  bool raw = false;  // large values stay references to their blobs
};
// Gives `use` each event in order, with its large values read one event at a time, until `use` returns false. Refuses
// `not_found`, `unsupported`.
Status for_each_event(Client& client, const RunId& run, Shard shard, const EventsWanted& wanted,
                      const std::function<bool(const Json& line)>& use);
// All of them. Refuses as for_each_event.
Result<std::vector<Json>> event_lines(Client& client, const RunId& run, Shard shard, const EventsWanted& wanted);

// No event can follow event `seq`: the run has ended, or is gone.
bool has_ended_by(Store& store, const RunId& run, std::int64_t seq);

// The sentence about a signal that no node of the run's graph waits for, with the name that may be meant; "": one does,
// or the run cannot be read.
std::string hint_at_signal(Client& client, const RunId& run, const std::string& name);
// A signal that was sent: {"run", "signal", "id", "waited_for"}, and "hint" if no node waits for it.
Json signal_json(Client& client, const RunId& run, const SignalRequest& sent);

}  // namespace cairn
