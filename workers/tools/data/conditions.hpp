// The conditions of a question: comparisons, periods, beginnings and endings of texts, values, flags, and what is
// absent. Each reads its words from the clauses and adds to the sketch. Not thread-safe.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "workers/tools/data/clauses.hpp"
#include "workers/tools/data/picking.hpp"
#include "workers/tools/data/sketch.hpp"

namespace cairn {

// The state of reading one question.
struct QuestionParts {
  const DataSchema& schema;
  Clauses& clauses;
  Picker& picker;
  std::optional<std::size_t> main;  // the table that is asked about
  bool finds_parts = false;         // values are looked for within texts
  Sketch sketch;
  std::vector<std::string> faults;  // what cannot be left out and was not understood

  std::set<std::size_t> scope() const { return main ? std::set<std::size_t>{*main} : std::set<std::size_t>{}; }
};

void read_text_patterns(QuestionParts& parts);
void read_periods(QuestionParts& parts);
void read_comparisons(QuestionParts& parts);
// Values within [first, last): as conditions.
std::vector<Condition> read_values(QuestionParts& parts, std::size_t first, std::size_t last);
// The comparisons within [first, last), which may not count rows of another table.
std::vector<Condition> read_own_comparisons(QuestionParts& parts, std::size_t first, std::size_t last);
void read_absence(QuestionParts& parts);
// A flag that no other clause has read holds, or does not where "not" is before it.
void read_flags(QuestionParts& parts);

}  // namespace cairn
