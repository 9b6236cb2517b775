// A profile: what venture_scope is to find out in one domain. JSON, of the program
// (workers/planners/venture_scope/profiles) or of the run's input:
//
//   {"name", "title"?, "auto_finish"?: true,
//    "search"?: {"tool"?: "corpus_search", "corpus"?: NAME, "limit"?: 5},
//    "calculator"?: {"target": PATH},
//    "fields": {PATH: FIELD}, "decompositions"?: {PATH: {"formula", "fields": {PATH: FIELD}}}}
//   FIELD: {"title"?, "type"?: "number"|"share"|"money"|"text", "unit"?, "required"?: true,
//           "formula"? or "sources"?: ["search"|"user"] (preferred first), "query"?, "question"?,
//           "find"?: {"about": [PHRASE], "context"?: [PHRASE]}, "min"?, "max"?, "requires_components"?: false}
//
// Texts may hold {region}, {currency} and {PATH}. A decomposition says of which parts a field is made that cannot be
// had directly. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <vector>

#include "engine/json.hpp"

namespace cairn {

inline constexpr const char* profile_default = "market_size";

// The profile that is named or given whole (null: the default one), with every optional part written out. Refuses
// `not_found` for a name that is none, `invalid` with the first fault of one that is given.
Result<Json> read_profile(const Json& wanted);

std::vector<std::string> profile_names();

}  // namespace cairn
