// The tools that answer questions on data, nine of them under the names of their source document. Their needs, slots
// and descriptions are in their ToolFacts, for the engine and for planners. Native and blocking; safe from any thread.
//
//   common_helpdesk   answers questions that need no data
//   metadata_lookup   finds the meaning of a question's references          gives metadata_results
//   list_tables, describe_table, sample_rows, find_values   look around in the data, see explore.hpp
//   es_query_gen      makes the query of an analysed question               gives es_query
//   es_query_exec     runs it                                               gives es_results
//   page_query        runs it for one page of rows                          gives es_results
//   clarify_question  makes a question back to the person                   gives question {"asks"}
//   explain_metadata  explains names in sentences                           gives explanation
//   show_results      rows as a text                                        gives formatted_results
//   analyze_results   rows analysed in sentences                            gives analysis
// Outputs may have a `tone`: "sure" or "uncertain".
#pragma once

#include <vector>

#include "storage/data/dataset.hpp"
#include "workers/ports/tools.hpp"
#include "workers/tools/data/query_language.hpp"

namespace cairn {

// REQUIRES: `dataset` outlives the tools; it may change until the first of them runs.
std::vector<ToolSpec> data_tools(const Dataset& dataset, const QueryLanguage& language);

}  // namespace cairn
