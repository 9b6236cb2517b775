// Exchanges with a model, kept as JSON lines, and answers out of them, so that a measurement
// with a model can be checked without it. The model made by each is used by one thread at a time.
//
// DIR/PLANNER.jsonl has a line for each exchange: {"task", "schema", "node", "request": {"messages", "schema",
// "tools"?}, "reply"?: {"message", "model", "finish_reason", "tokens_in", "tokens_out", "cost"}, "error"?: {"error",
// "message", "retryable"}, "latency_ms"}. It has no keys, and in place of what differs from run to run the names of
// `places`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/json.hpp"
#include "engine/result.hpp"
#include "workers/ports/ports.hpp"

namespace cairn {

inline constexpr std::size_t recordings_bytes_max = json_bytes_max;  // of one planner

// Texts that differ from run to run (a folder, a port), and the names that stand for them: {"http://...": "{{pages}}"}.
using Places = std::map<std::string, std::string>;

// The exchanges of one task, in order.
struct Recorded {
  std::vector<Json> exchanges;
  int changed = 0;  // when answered out of them: how often the prompt was another one than that on record
};

// Asks `model` and adds each exchange to `into`. REQUIRES: both outlive it.
std::unique_ptr<Model> make_recording_model(Model& model, Places places, Recorded& into);

// Answers out of `from`: the first exchange not used yet with the same prompt, else the first to the same schema. Fails
// as `refused` when there is none. REQUIRES: it outlives it.
std::unique_ptr<Model> make_recorded_model(Recorded& from, Places places);

// The file of one planner. Refuses `not_found`, `limit`, `invalid` (a line that is no exchange).
Result<std::map<std::string, Recorded>> read_recordings(const std::string& folder, const std::string& planner);

// Replaces the file. Refuses `unavailable`: it cannot be written.
Status write_recordings(const std::string& folder, const std::string& planner,
                        const std::map<std::string, Recorded>& recorded);

}  // namespace cairn
