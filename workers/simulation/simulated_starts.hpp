// Starts of graphs with a start policy in virtual time, under faults: several processes, which die at any point and
// overtake each other between any two calls of the store, ask for starts, begin those that waited, give some up and
// fork runs, while runs end and the clock jumps. A singleton's key has at most one open run, each start that was
// taken is in the one run that it was promised, and starts that queue begin in their order. A seed decides everything.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "workers/catalogue.hpp"

namespace cairn::simulation {

struct StartsCourse {
  std::string finding;                         // one sentence; "" if all that must hold held
  std::map<std::string, std::int64_t> faults;  // that happened, by kind
  std::map<std::string, std::int64_t> taken;   // starts that were acknowledged, by graph and standing
  std::int64_t asked = 0;
  std::int64_t runs = 0;
};

StartsCourse simulate_starts(std::uint64_t seed, const Catalogue& catalogue, int happenings = 400);

}  // namespace cairn::simulation
