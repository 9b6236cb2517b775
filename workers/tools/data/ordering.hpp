// The order of the rows that a question asks for, and how many of them. Each reads its words from the clauses and adds
// to the sketch. Not thread-safe.
#pragma once

#include "workers/tools/data/terms.hpp"

namespace cairn {

// "ordered by …", "from the best … to the lowest". The first of them is placed when it is known what is asked for.
void read_order(QuestionParts& parts);
// A wanted order changes no rows: one that would is a doubt.
void place_order(QuestionParts& parts);
// "the five largest", "top 3 T by X", "the T with the most X".
void read_superlatives(QuestionParts& parts);

}  // namespace cairn
