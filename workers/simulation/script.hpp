// The script of handlers and tools: what they do depends on what they see and a salt. Plain values; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "workers/handlers/handler.hpp"
#include "workers/simulation/chance.hpp"

namespace cairn::simulation {

// One attempt of a step.
struct Act {
  StepResult result;
  TimeUs takes_us = 0;
  bool hangs = false;  // it never ends by itself
};

// `errors`: of the step's attempts before this one; losses do not count, so that an attempt that follows a loss does
// what the lost one did. For a pure handler, which cannot know it, it is minus the attempt's number.
using Script = std::function<Act(const StepInput& input, std::int32_t errors, std::int64_t timeout_ms)>;

// All that others do around the sessions. An answer or a signal that is missing does not come, or not yet; the same
// question or step may be asked about again and then has the same one.
struct Conduct {
  Script act;
  std::function<std::optional<Json>(const RunId& run, const std::string& question, const Node& node)> answer;
  std::function<std::optional<Json>(const RunId& run, StepId step, const std::string& signal)> signal;
};

// For random graphs: fails, hangs (where there is a timeout), loops and plans by what it sees. Each effect that
// succeeds has asked a model with so many tokens.
Conduct fateful_conduct(std::uint64_t salt, bool is_bulky, std::int64_t tokens);

// For graphs of users: a node leaves by each of its labels, and fails now and then, as drawn; the built-in data.*
// handlers do what they do. `says` (or null) gives outcomes by node and tool, answers and signals: {"nodes": {NODE:
// [{"label", "patch"?, "sub_goals"?, "takes_ms"?, "weight"?} | {"error", "message"?, "retryable"?, ...}]}, "tools":
// {TOOL: [{"outputs"} | {"error"}]}, "answers": {NODE: [VALUE]}, "signals": {NAME: [VALUE]}}. Refuses `invalid` with
// one sentence: another key, and a node, question or signal that no graph has.
Status check_script(const Json& says, const std::vector<GraphRef>& graphs, const HandlerTable& handlers);
// The act of an outcome as check_script knows them; `takes_us` if it does not say.
Act scripted_act(const Json& entry, bool is_tool, TimeUs takes_us = 0);
Conduct drawn_conduct(std::uint64_t salt, Json says, std::vector<GraphRef> graphs, const HandlerTable& handlers,
                      Chance& chance);

}  // namespace cairn::simulation
