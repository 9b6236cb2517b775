// Schedules of a graph in virtual time, under faults: the schedulers of several processes, which die at any point, over
// tables in memory; persons who edit, pause and trigger; a clock that jumps, and is weeks ahead for a moment. Each time
// of a schedule has one outcome, and one that started has exactly one run. A seed decides everything. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/graph.hpp"
#include "engine/json.hpp"
#include "workers/catalogue.hpp"

namespace cairn::simulation {

struct SchedulePlan {
  std::vector<GraphRef> graphs;  // each schedule starts one of them; it changes when it is edited
  std::vector<GraphRef> called;  // which those call
  Json input = Json::object();   // of the runs
  int happenings = 400;
};

struct ScheduleCourse {
  std::string finding;                         // one sentence; "" if all that must hold held
  std::map<std::string, std::int64_t> faults;  // that happened, by kind
  std::int64_t times = 0;                      // of schedules, whose outcome was checked
  std::int64_t runs = 0;
};

// REQUIRES: a run of each graph can be started with the input.
ScheduleCourse simulate_schedules(std::uint64_t seed, const SchedulePlan& plan, const Catalogue& catalogue);

// Whether it can: a graph may want another input.
bool can_be_scheduled(const SchedulePlan& plan, const Catalogue& catalogue);

// A graph that waits until someone ends its run.
GraphRef waiting_graph(const std::string& name);

}  // namespace cairn::simulation
