// The query that answers a question, generated from its analysis and the meaning of its names. It contains only
// identifiers of the catalog and quoted values, so no text of a question is ever executed. Pure functions, safe from
// any thread.
//
// analysis_result: {"kind": count|sum|average|minimum|maximum|list|change, "references", "measure"?, "group_by"?,
//                   "month"?, "year"?, "order"?, "limit"?}; metadata_results as workers/tools/data/metadata.hpp has it.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// {"language": "sql", "text", "says", "ties"?, "doubts"?}: the query, its result in words, a query on whether rows
// share its last place, and what was taken for granted, also for gaps of the metadata. Refuses `invalid`: names that
// make no query (no table, a measure that is no figure, tables that no key links, a month without a date).
Result<Json> sql_query(const Json& analysis, const Json& metadata);

}  // namespace cairn
