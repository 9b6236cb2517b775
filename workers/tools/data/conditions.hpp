// The conditions of a question: comparisons, periods, beginnings and endings of texts, values, flags, and what is
// absent. Each reads its words from the clauses and adds to the sketch. Not thread-safe.
#pragma once

#include <vector>

#include "workers/tools/data/terms.hpp"

namespace cairn {

void read_text_patterns(QuestionParts& parts);
void read_periods(QuestionParts& parts);
// The periods within [first, last): as conditions.
std::vector<Condition> read_periods(QuestionParts& parts, std::size_t first, std::size_t last);
void read_comparisons(QuestionParts& parts);
// Values within [first, last): as conditions.
std::vector<Condition> read_values(QuestionParts& parts, std::size_t first, std::size_t last);
// The comparisons within [first, last), which may not count rows of another table.
std::vector<Condition> read_own_comparisons(QuestionParts& parts, std::size_t first, std::size_t last);
void read_absence(QuestionParts& parts);
// A flag that no other clause has read holds, or does not where "not" is before it.
void read_flags(QuestionParts& parts);

}  // namespace cairn
