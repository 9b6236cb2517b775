// Values from people for venture_scope: their answers. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "workers/planners/venture_scope/fields.hpp"

namespace cairn {

// An answer as the value of a field. Numbers may be texts: "4.1 million". Refuses `invalid`: an answer that does not
// fit the field, or that can be read in more than one way.
Result<Json> read_answer(const Venture& venture, const std::string& path, const Json& answer);

// Whether the answer declines to answer: null, "", "unknown".
bool is_no_answer(const Json& answer);

}  // namespace cairn
