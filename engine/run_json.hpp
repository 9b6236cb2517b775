// A run as JSON for people and programs outside: the documents of `cairn show` and `cairn events`, and of the API.
// Their field names are a contract with scripts; nothing in the engine reads them back. Pure functions, safe from any
// thread.
#pragma once

#include <functional>
#include <string_view>

#include "engine/event.hpp"
#include "engine/result.hpp"
#include "engine/state.hpp"

namespace cairn {

// `cairn show`: run graph status seq channels steps plan budgets questions input tags parent continues started_at
// updated_at, and reason, output (and cause, if a failure led there) once it has ended.
Json state_json(const RunState& state);

// Its part `plan`.
Json plan_json(const RunState& state);
// The same line by line, without the first `after` of them, as long as `take` returns true.
void each_plan_line(const RunState& state, std::size_t after, const std::function<bool(Json line)>& take);

// One line of `cairn events --json`: run, seq, type, at, step, actor, then the payload's own fields. Times are RFC
// 3339; a plan's version is `plan_version`.
Json event_json(const RunId& run, const Event& event);

// An event as it is stored.
struct StoredEvent {
  std::int64_t seq = 0;
  TimeUs at_us = 0;
  StepId step = 0;
  std::string_view actor = {};
  std::int16_t type = 0;
  std::int16_t version = 0;
  std::string_view payload = {};
};
// The same line; quicker, as a payload of today's version is not decoded. Refuses as decode_payload.
Result<Json> event_json(const RunId& run, const StoredEvent& event);

}  // namespace cairn
