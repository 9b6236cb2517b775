// The simulator: real sessions, committers and the real core over a store in memory, in virtual time on one thread. A
// scenario, and with it a seed, decides everything: the same scenario always takes the same course. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workers/simulation/scenario.hpp"
#include "workers/simulation/world.hpp"

namespace cairn::simulation {

// The course of one simulation.
struct Course {
  struct History {
    GraphRef graph;
    std::vector<Event> events;
  };
  std::string finding;                          // one sentence; "" if all that must hold held
  std::map<std::string, std::int64_t> faults;   // that happened, by kind
  std::map<std::string, std::int64_t> reached;  // what not every course reaches, by its name
  std::map<std::string, std::int64_t> endings;  // of runs, by status
  std::vector<Json> ends;  // of the scenario's runs: all that does not depend on who did it, and when
  std::int64_t happenings = 0;
  std::int64_t events = 0;  // in the log
  TimeUs lasted_us = 0;
  std::vector<std::string> story;  // if it is kept
  std::vector<History> histories;  // of a scenario whose runs may rest: of its runs, in order, and of those they called
};

// The handlers and tools of random graphs.
const Cast& random_cast();

// One course of the scenario.
Course simulate(const Scenario& scenario, const Cast& cast, bool keeps_story = false);

// The scenario's course; if it is comparable, against the one without faults.
Course simulate_and_compare(const Scenario& scenario, const Cast& cast);

}  // namespace cairn::simulation
