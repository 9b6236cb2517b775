#include "workers/session/attempt_note.hpp"

#include <string>
#include <utility>

#include "workers/runs/trace_ids.hpp"

namespace cairn {

Json fields_of_attempt(const RunId& run, const Fence& fence, std::int32_t attempt, const RunState* state) {
  Json fields = {{"run", to_string(run)}, {"step", fence.step}, {"attempt", attempt}, {"worker", fence.session}};
  if (state == nullptr) return fields;
  fields["graph"] = state->graph->name;
  fields["trace"] = trace_id(run, state->tags);
  if (const Step* step = find_step(*state, fence.step)) fields["node"] = state->node(*step).name;
  return fields;
}

bool is_worth_a_line(const StepResult& result, TimeUs took_us) {
  constexpr TimeUs slow_us = 10'000'000;
  return !result || took_us >= slow_us;
}

Note attempt_note(const StepResult& result, TimeUs took_us, Json fields) {
  fields["took_ms"] = took_us / 1'000;
  if (result) return {Note::Level::info, "A step was slow.", std::move(fields)};
  fields["error"] = result.error().error;
  fields["retryable"] = result.error().retryable;
  return {Note::Level::info, "An attempt failed: " + result.error().message, std::move(fields)};
}

}  // namespace cairn
