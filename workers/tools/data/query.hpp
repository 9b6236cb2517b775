// The query that answers a question, made from what is asked and from what the data's names mean. Only identifiers of
// the catalog and quoted values get into it. Pure functions, safe from any thread.
//
// analysis_result: {"kind": count|sum|average|minimum|maximum|list|change, "references", "measure"?, "group_by"?,
//                   "month"?, "year"?, "order"?, "limit"?}; metadata_results as workers/tools/data/metadata.hpp has it.
#pragma once

#include <string>

#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

// {"language": "sql", "text", "says"}: the query and, in words, what it gives. Refuses `invalid` when the names do not
// make a query: no table, a measure that is no figure, tables that no key links, a month without a date.
Result<Json> sql_query(const Json& analysis, const Json& metadata);

}  // namespace cairn
