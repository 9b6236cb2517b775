// The meaning of names in a data set: references of a question, found among its tables, columns, comments and values.
// Pure functions, safe from any thread.
//
// metadata_results: {"asked": [REFERENCE...],
//   "found": [{"reference", "as": "table"|"column"|"value", "table", "column"?, "type"?, "value"?, "about"}...],
//   "unresolved": [REFERENCE...],
//   "tables": [{"table", "about", "rows"?, "columns": [{"name", "type", "about", "is_key", "is_unique"?}...]}...],
//   "links": [{"table", "column", "to_table", "to_column", "and"?: [[COLUMN, TO_COLUMN]...]}...],
//   "values"?: [{"table", "column", "value", "word", "is_equal", "has_variants"}...],
//   "rivals"?: words that may be several things alike, [{"word", "places": [NAME...], "more"}...],
//   "left_out"?: how many tables are not among "tables", "sampled"?, "not_searched"?: tables whose values were looked
//   at in part or not at all, "more_values"?: there are values that were left out, "more"?: there are tables or keys
//   that were not read}
#pragma once

#include <string>
#include <vector>

#include "engine/json.hpp"
#include "storage/data/dataset.hpp"
#include "storage/data/dataset_values.hpp"

namespace cairn {

// Every place that a reference may mean, best first; only places of the best kind that was found: a name of a table or
// column, a value, a word of a comment.
Json metadata_results(const std::vector<std::string>& references, const DataCatalog& catalog,
                      const std::vector<DataValue>& values);

inline constexpr std::size_t metadata_bytes_max = 48 * 1024;

// The same for a question, of a data set of any size: the tables that the question and its references speak of and
// their neighbours, whole, as many as fit into metadata_bytes_max and at most a third of a large data set.
// `unresolved` then are names alone (quoted or with capitals) that the data does not have.
struct LookedUp {
  std::vector<std::string> references;
  std::string question;
};
Json question_metadata(const LookedUp& asked, const DataCatalog& catalog, const FoundValues& found);

// The tables that a question speaks of, best first, with their neighbours after them.
std::vector<std::string> tables_for(const LookedUp& asked, const DataCatalog& catalog,
                                    const std::vector<DataValue>& values);

// The spans of the question and references to look for among values.
ValueSearch values_for(const LookedUp& asked);

// Whether a reference has several equally good places.
bool has_rival_places(const Json& metadata);

// The gaps that the lookup left, in sentences; none if it read all. A sample of a large table is no such gap.
std::vector<std::string> gaps_in(const Json& metadata);

// The places, and the gaps, in whole sentences.
std::string explain_metadata(const Json& metadata);

// Lower case, without a plural's ending, words separated by blanks: "net_prices" and "net price" are the same.
std::string plain_word(std::string_view word);

}  // namespace cairn
