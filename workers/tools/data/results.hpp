// Rows of a query in words: shown as they are, or analysed. Pure functions, safe from any thread.
//
// es_results: {"columns": [{"name", "type"}...], "rows": [[VALUE...]...], "more", "says"?, "page"?: {"number", "size"}}
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

// What the rows say: of a change (columns part, value, before, now) which parts made it; of figures for each name the
// total, the largest and the smallest.
ResultAnalysis analyze_results(const Json& results);

}  // namespace cairn
