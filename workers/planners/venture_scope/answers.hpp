// What comes from outside for venture_scope, made into values: answers of people, and what documents say. And back: the
// result as a person reads it. Pure functions, safe from any thread.
#pragma once

#include <string>

#include "workers/planners/venture_scope/fields.hpp"

namespace cairn {

// The value of a field that an answer stands for. Numbers may be texts: "4.1 million". Refuses `invalid`.
Result<Json> read_answer(const Venture& venture, const std::string& path, const Json& answer);

// "Ask somebody else": null, "", "unknown".
bool is_no_answer(const Json& answer);

// What the hits of a search [{"title", "source", "excerpt"}] say about a field: {"value", "evidence": {...}}, or null.
Json read_hits(const Venture& venture, const std::string& path, const Json& hits);

// The result in sentences: the target, its formula, and each value with where it came from. `decided_by`: the model.
std::string report_text(const Venture& venture, const std::string& status, const std::string& reason,
                        const std::string& decided_by);

}  // namespace cairn
