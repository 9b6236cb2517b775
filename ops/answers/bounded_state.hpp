// A run's state as answers of bounded size, whatever the run holds. Not thread-safe.
#pragma once

#include <string>

#include "ops/answers/answer_room.hpp"
#include "workers/client.hpp"

namespace cairn {

// The state (engine/run_json.hpp), with its large values put back as long as the whole stays within answer_bytes_max;
// those beyond it, or all if `is_raw`, stay references. Refuses `limit`: without them it takes more; nothing of it has
// been built by then.
Result<Json> bounded_state(Client& client, const RunState& state, Shard shard, bool is_raw);
// The same of the state's plan alone.
Result<Json> bounded_plan(Client& client, const RunState& state, Shard shard);
// {"run", "seq", "channels": {NAME: value}}: one channel alone. Refuses as bounded_state.
Result<Json> bounded_channel(Client& client, const RunState& state, Shard shard, const std::string& channel);

}  // namespace cairn
