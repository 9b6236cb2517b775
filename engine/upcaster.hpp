// Upcasters: the steps that lift a stored payload of an older event version to today's, one version at a time, while it
// is decoded. Stored bytes never change, and hash chains are over the stored bytes; only the decoded event is of today.
// versions.md says how to add a version. Pure functions and constant data, safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/event.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// One step, from `version` of the event type with that number to the version after it.
struct Upcaster {
  std::int16_t type = 0;
  std::int16_t version = 0;
  void (*lift)(Json& payload) = nullptr;  // throws Json::exception if the payload is none of `version`
};
using Upcasters = std::span<const Upcaster>;

// The steps that this program ships.
Upcasters shipped_upcasters();

// The payload as version `now` writes it. Refuses `unsupported` if a step is missing (a version that no program wrote,
// or that a newer one did), `corrupt` for a payload that is none of `version`.
Result<std::string> upcast(std::string_view payload, std::int16_t version, const EventType& now, Upcasters upcasters);

// The refusal of a type or version that this program does not know.
Error written_by_a_newer_program(std::int16_t type, std::int16_t version);

}  // namespace cairn
