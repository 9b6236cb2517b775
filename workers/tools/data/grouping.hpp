// The groups that the figures of a question are asked for: "for each city", "monthly". Reads its words from the clauses
// and adds to the sketch. Not thread-safe.
#pragma once

#include "workers/tools/data/terms.hpp"

namespace cairn {

void read_groups(QuestionParts& parts);

}  // namespace cairn
