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

// Texts that differ from run to run (a folder, a port, the run's id), and the names that stand for them: {"http://...":
// "{{pages}}"}.
using Places = std::map<std::string, std::string>;

// The exchanges of one task, in order.
struct Recorded {
  std::vector<Json> exchanges;
  int changed = 0;  // when answered out of them: how often the prompt was another one than that on record
};

// Asks `model` and adds each exchange to `into`. REQUIRES: all three outlive it; `places` may grow until it is asked.
std::unique_ptr<Model> make_recording_model(Model& model, const Places& places, Recorded& into);

// Answers out of `from`: the first exchange not used yet with the same prompt, else the first to the same schema. Fails
// as `refused` when there is none. REQUIRES: as above.
std::unique_ptr<Model> make_recorded_model(Recorded& from, const Places& places);

bool has_recordings(const std::string& folder, const std::string& planner);
// The file of one planner. Refuses `not_found`, `limit` (more than json_bytes_max bytes), `invalid` (a line that is no
// exchange).
Result<std::map<std::string, Recorded>> read_recordings(const std::string& folder, const std::string& planner);

// Replaces the file. Refuses `unavailable` (it cannot be written).
Status write_recordings(const std::string& folder, const std::string& planner,
                        const std::map<std::string, Recorded>& recorded);

}  // namespace cairn
