// Ratios, proportions and percentages of a question. Reads its words from the clauses and adds to the sketch. Not
// thread-safe.
#pragma once

#include "workers/tools/data/terms.hpp"

namespace cairn {

// False if the question asks for none.
bool read_ratio(QuestionParts& parts);

}  // namespace cairn
