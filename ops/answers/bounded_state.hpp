// A run's state as answers of bounded size, whatever the run holds. Not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "ops/answers/answer_room.hpp"
#include "workers/client.hpp"

namespace cairn {

// The state (engine/run_json.hpp), with its large values put back as long as the whole stays within answer_bytes_max;
// those beyond it, or all if `is_raw`, stay references. Refuses `limit`: without them it takes more; nothing of it has
// been built by then.
Result<Json> bounded_state(Client& client, const RunState& state, Shard shard, bool is_raw);

struct PlanPart {
  std::size_t after = 0;                   // so many lines come before it
  std::optional<std::int32_t> limit = {};  // at most so many, and no more than fit; nothing: all
};
struct PlanPage {
  Json lines;
  std::optional<std::size_t> next = {};  // where the plan goes on
};
// A part of the state's plan alone. Refuses `limit`: all of it takes more, or a line by itself.
Result<PlanPage> bounded_plan(Client& client, const RunState& state, Shard shard, const PlanPart& part);
// {"run", "seq", "channels": {NAME: value}}: one channel alone. Refuses as bounded_state.
Result<Json> bounded_channel(Client& client, const RunState& state, Shard shard, const std::string& channel);

}  // namespace cairn
