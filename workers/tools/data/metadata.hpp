// The meaning of names in a data set: references of a question, found among its tables, columns, comments and values.
// Pure functions, safe from any thread.
//
// metadata_results: {"asked": [REFERENCE...],
//   "found": [{"reference", "as": "table"|"column"|"value", "table", "column"?, "type"?, "value"?, "about"}...],
//   "unresolved": [REFERENCE...],
//   "tables": [{"table", "about", "columns": [{"name", "type", "about", "is_key"}...]}...],
//   "links": [{"table", "column", "to_table", "to_column"}...]}
#pragma once

#include <string>
#include <vector>

#include "engine/json.hpp"
#include "storage/data/dataset.hpp"

namespace cairn {

// Every place that a reference may mean, best first; only places of the best kind that was found: a name of a table or
// column, a value, a word of a comment.
Json metadata_results(const std::vector<std::string>& references, const DataCatalog& catalog,
                      const std::vector<DataValue>& values);

// Whether a reference has several equally good places.
bool has_rival_places(const Json& metadata);

// The places in whole sentences.
std::string explain_metadata(const Json& metadata);

// Lower case, without a plural's ending, words separated by blanks: "net_prices" and "net price" are the same.
std::string plain_word(std::string_view word);

}  // namespace cairn
