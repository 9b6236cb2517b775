// A run as JSON for people and programs outside: the documents of `cairn show` and `cairn events`, and of the API.
// Their field names are a contract with scripts; nothing in the engine reads them back. Pure functions, safe from any
// thread.
#pragma once

#include "engine/event.hpp"
#include "engine/state.hpp"

namespace cairn {

// `cairn show`: run graph status seq channels steps plan budgets questions input tags parent continues started_at
// updated_at, and reason, output (and cause, if a failure led there) once it has ended.
Json state_json(const RunState& state);

// Its part `plan`.
Json plan_json(const RunState& state);

// One line of `cairn events --json`: run, seq, type, at, step, actor, then the payload's own fields. Times are RFC
// 3339; a plan's version is `plan_version`.
Json event_json(const RunId& run, const Event& event);

}  // namespace cairn
