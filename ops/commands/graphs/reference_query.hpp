// Reference queries of a set of questions, and whether rows equal theirs. Pure functions, safe from any thread.
//
// A reference is one query or several, separated by ";", all of which are right. In one, "{a, b}" stands for any choice
// of these columns but none, and "{}" after it for the same choice.
#pragma once

#include <string>
#include <vector>

#include "engine/json.hpp"

namespace cairn {

// The queries that a reference stands for, at most `reference_queries_max`.
inline constexpr std::size_t reference_queries_max = 64;
std::vector<std::string> reference_queries(const std::string& reference);

// Whether two lists of rows are the same but for the order of the rows and of the columns; numbers to six digits.
bool are_equal_rows(const Json& rows, const Json& others);

}  // namespace cairn
