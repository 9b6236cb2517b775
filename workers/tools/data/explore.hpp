// Exploration queries over a data set, within limits of rows and time: its tables, one table, some of its rows, and
// where a value stands. A result that a limit cut says so (`more`, `sampled`, `not_searched`), and `from` goes on after
// it; one that the limit of time cut is what there was until then, has `cut`, a sentence, and the tone `uncertain`.
// Blocking; safe from any thread.
#pragma once

#include "storage/data/dataset.hpp"
#include "workers/ports/tools.hpp"

namespace cairn {

inline constexpr std::size_t tables_listed_max = 100;
inline constexpr std::int64_t sample_rows_max = 20;

// Input from (0): {"tables": {"tables": [{"table", "rows"?, "columns", "about"}...], "from", "all", "more"}}
ToolAnswer list_tables(const Dataset& dataset, const ToolCall& call);
// Input table: {"table": {"table", "about", "rows"?, "columns", "links"}}
ToolAnswer describe_table(const Dataset& dataset, const ToolCall& call);
// Inputs table, from (0), rows (5): {"es_results"}
ToolAnswer sample_rows(const Dataset& dataset, const ToolCall& call);
// Inputs values, a list of texts, and tables, a list of names: {"found_values": {"values", "sampled", "not_searched",
// "more"}}
ToolAnswer find_values_tool(const Dataset& dataset, const ToolCall& call);

}  // namespace cairn
