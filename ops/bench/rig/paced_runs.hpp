// Runs that arrive at set times, and how long each waits for its first step. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ops/service/database.hpp"

namespace cairn {

struct PacedRun {
  RunId run;
  TimeUs due = 0;  // by the database's clock
};

// Starts one run of the graph at each of these times after the call, in ascending order, with the input of its place;
// those that are due at once in few commits. Throws std::runtime_error.
std::vector<PacedRun> start_paced(Opened& opened, const std::string& graph, const std::vector<TimeUs>& times,
                                  const std::function<Json(std::size_t)>& input);

// Throws std::runtime_error if they have not all ended within a minute.
void wait_for_ends(Store& store, const std::vector<PacedRun>& runs);

// From the time when the run was due until its first step began, in milliseconds. Throws std::runtime_error if the run
// has no such step.
double wait_ms(Client& client, const PacedRun& run);

}  // namespace cairn
