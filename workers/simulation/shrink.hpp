// The shrinker: finds a smaller scenario that fails too. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "workers/simulation/simulation.hpp"

namespace cairn::simulation {

struct Shrunk {
  Scenario scenario;
  std::string finding;
  int tries = 0;
};

// Drops faults, commands, runs, sessions and nodes as long as something is still found, whatever it is.
// REQUIRES: the scenario's course has a finding.
Shrunk shrink(Scenario failing, const Cast& cast, int tries_max);

// For people: what was found, the scenario, and what happened, line by line, to the end.
std::vector<std::string> lines_of(const Shrunk& shrunk, const Cast& cast);

}  // namespace cairn::simulation
