// The nine tools that answer questions on data, under the names of the document that they come from: what each needs,
// gives and does stands in its ToolFacts, for the engine and for planners. Native and blocking; safe from any thread.
//
//   common_helpdesk   answers what is no question on the data
//   metadata_lookup   finds what a question's references mean in the data   gives metadata_results
//   es_query_gen      makes the query of an analysed question               gives es_query
//   es_query_exec     runs it                                               gives es_results
//   page_query        runs it for one page of rows                          gives es_results
//   clarify_question  makes the question back                               gives question {"asks"}
//   explain_metadata  says what names mean                                  gives explanation
//   show_results      rows as a text                                        gives formatted_results
//   analyze_results   what the rows say                                     gives analysis
// Outputs may have a `tone`: "sure" or "uncertain".
#pragma once

#include <vector>

#include "storage/data/dataset.hpp"
#include "workers/ports/tools.hpp"
#include "workers/tools/data/query_language.hpp"

namespace cairn {

// REQUIRES: `dataset` lives as long as the tools; it may be set until the first of them runs.
std::vector<ToolSpec> data_tools(const Dataset& dataset, const QueryLanguage& language);

}  // namespace cairn
