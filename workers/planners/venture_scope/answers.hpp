// Values from outside for venture_scope: people's answers and passages of documents; and the report that a person
// reads. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "workers/planners/venture_scope/fields.hpp"

namespace cairn {

// An answer as the value of a field. Numbers may be texts: "4.1 million". Refuses `invalid`: an answer that does not
// fit the field.
Result<Json> read_answer(const Venture& venture, const std::string& path, const Json& answer);

// Whether the answer declines to answer: null, "", "unknown".
bool is_no_answer(const Json& answer);

// The value of a field in the hits of a search, [{"title", "source", "excerpt"}]: {"value", "evidence": {...}}, or
// null.
Json read_hits(const Venture& venture, const std::string& path, const Json& hits);

// The result in sentences: the target, its formula, and each value with its source. `decided_by`: the model's name.
std::string report_text(const Venture& venture, const std::string& status, const std::string& reason,
                        const std::string& decided_by);

}  // namespace cairn
