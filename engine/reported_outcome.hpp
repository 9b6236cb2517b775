// Reported outcomes: a worker's report of a step, read back from the events that the report led to. Pure functions,
// safe from any thread.
#pragma once

#include <optional>
#include <span>

#include "engine/command.hpp"

namespace cairn {

struct StepReport {
  StepId step = 0;
  std::int32_t attempt = 0;
  Result<Outcome, Failure> result;  // a failure that was not tried again counts as one that is not worth it
  SessionId worker = 0;
  TimeUs started_at = 0;
  StepId cached_from = 0;
};

// `events` begin with the first that the report led to: its facts, then the one that closes the attempt. Nothing if
// they are of no report: a step that the engine closed by itself, a command from outside, or a report that does not end
// in them.
std::optional<StepReport> step_report(std::span<const Event> events);

}  // namespace cairn
