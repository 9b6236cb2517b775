#include "engine/upcaster.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace cairn {

namespace {

// Version 2 says by which rules the run reads references.
constexpr std::array shipped = {Upcaster{1, 1, [](Json& run_started) { run_started["language"] = 1; }}};

}  // namespace

Upcasters shipped_upcasters() { return shipped; }

Result<std::string> upcast(std::string_view payload, std::int16_t version, const EventType& now, Upcasters upcasters) {
  std::vector<const Upcaster*> steps;
  for (std::int16_t at = version; at != now.version; ++at) {
    const auto step = std::find_if(upcasters.begin(), upcasters.end(),
                                   [&](const Upcaster& one) { return one.type == now.number && one.version == at; });
    if (at > now.version || step == upcasters.end()) return written_by_a_newer_program(now.number, version);
    steps.push_back(&*step);
  }
  Json lifted = Json::parse(payload, nullptr, false);
  try {
    for (const Upcaster* step : steps) step->lift(lifted);
    return canonical(lifted);
  } catch (const Json::exception& bad) {
    return Error{Code::corrupt, "Expected version " + std::to_string(version) + " of the payload of a " +
                                    std::string(now.name) + ", but " + bad.what() + "."};
  }
}

Error written_by_a_newer_program(std::int16_t type, std::int16_t version) {
  return {Code::unsupported, "Expected an event of a known type, but found type " + std::to_string(type) + " version " +
                                 std::to_string(version) + ", written by a newer program."};
}

}  // namespace cairn
