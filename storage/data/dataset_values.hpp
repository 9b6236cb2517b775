// Values of a data set that equal or hold a word of a question. Small tables are read whole, of large ones the common
// values that the server's statistics know, what an index finds, and a sample; within a limit of time, after which the
// answer says where it did not look. Safe from any thread; each call blocks its own.
#pragma once

#include <string>
#include <vector>

#include "storage/data/dataset.hpp"

namespace cairn {

inline constexpr std::int64_t whole_rows_max = 20'000;  // of a table; a larger one is sampled

struct DataValue {
  std::string table;
  std::string column;
  std::string value;
  std::string word = {};      // as it was looked for
  bool is_equal = true;       // but for case; else the value holds the word
  bool has_variants = false;  // other values of the column equal it, or hold the word, too
};

struct ValueSearch {
  std::vector<std::string> equal;   // values that are these, ignoring case
  std::vector<std::string> within;  // values that hold these
  std::vector<std::string> tables;  // in this order; none: all
};

struct FoundValues {
  std::vector<DataValue> values;
  std::vector<std::string> sampled;       // tables of which only a part was looked at
  std::vector<std::string> not_searched;  // tables that the time did not suffice for
  bool more = false;                      // at 2,000 places of values in one query the others were left out
};

// Refuses as run_bounded(), but for the limit of time.
Result<FoundValues> find_values(const Dataset& dataset, const DataCatalog& catalog, const ValueSearch& search);

}  // namespace cairn
