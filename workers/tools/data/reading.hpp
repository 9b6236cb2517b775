// A question on data, read with the data set's names at hand: which figures of which tables are asked for, for each of
// what, in which order and under which conditions. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/result.hpp"
#include "workers/tools/data/mentions.hpp"
#include "workers/tools/data/sketch.hpp"

namespace cairn {

// Refuses `invalid`, with a sentence that says which part was not understood. Assumptions are among the
// sketch's doubts.
Result<Sketch> read_question(const std::string& question, const DataSchema& schema,
                             const std::vector<DataValue>& values);

}  // namespace cairn
