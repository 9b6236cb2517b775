// A profile: the fields that venture_scope is to find out in one domain. JSON, built in
// (workers/planners/venture_scope/profiles) or given in the run's input:
//
//   {"name", "title"?, "auto_finish"?: true,
//    "search"?: {"tool"?: "corpus_search", "corpus"?: NAME, "limit"?: 5},
//    "calculator"?: {"target": PATH},
//    "fields": {PATH: FIELD}, "decompositions"?: {PATH: {"formula", "fields": {PATH: FIELD}}}}
//   FIELD: {"title"?, "type"?: "number"|"share"|"money"|"text", "unit"?, "required"?: true,
//           "formula"? or "sources"?: ["search"|"user"] (preferred first), "query"?, "question"?,
//           "find"?: {"about": [PHRASE], "context"?: [PHRASE]}, "min"?, "max"?, "requires_components"?: false,
//           "reads"?: "product" (a text that the run's question names)}
//
// Texts may hold {region}, {currency} and {PATH}. A decomposition names the parts of a field that has no direct source.
// Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/json.hpp"

namespace cairn {

inline constexpr const char* profile_default = "market_size";

// The profile that is named or given whole (null: the default one), with every optional part filled in. Refuses
// `not_found`: an unknown name; `invalid`: the first fault of a given one.
Result<Json> read_profile(const Json& wanted);

std::vector<std::string> profile_names();

}  // namespace cairn
