// The rows of a query as text: a table, or an analysis in sentences. Pure functions, safe from any thread.
//
// es_results: {"columns": [{"name", "type"}...], "rows": [[VALUE...]...], "more", "says"?, "page"?: {"number", "size"},
//   "doubts"?: [SENTENCE...]}
#pragma once

#include <string>

#include "engine/json.hpp"

namespace cairn {

// One line for one value, else a table of at most `rows_shown_max` rows.
inline constexpr std::size_t rows_shown_max = 50;
std::string show_results(const Json& results);

struct ResultAnalysis {
  std::string text;
  bool is_sure = true;  // figures alone say where something changed, not why
};

// For a change (columns part, value, before, now): the parts that made it. For figures by name: the total, the largest
// and the smallest.
ResultAnalysis analyze_results(const Json& results);

}  // namespace cairn
