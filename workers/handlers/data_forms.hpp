// The forms of what conditions and operations work on (data_logic.hpp), as far as a graph shows them before its values
// are known. A part is a setting that is resolved by itself; a reference may be anything. Pure functions, safe from any
// thread.
#pragma once

#include <string>
#include <vector>

#include "engine/graph_check.hpp"
#include "engine/json.hpp"
#include "engine/result.hpp"

namespace cairn {

inline constexpr int round_digits_max = 15;

// The parts of what stands under the operation's name, and the kinds that each must be of. REQUIRES: the name is one of
// an operation. Refuses `invalid`: another number of them, no list of them, a constant of another kind.
Result<std::vector<ValuePart>> parts_of_operation(const std::string& name, const Json& operation);
// The same of a condition of two values.
Result<std::vector<ValuePart>> parts_of_two(const std::string& name, const Json& a, const Json& b);

// Sentences about values that are likely meant otherwise, though they have a result: operations do not nest, and one
// that stands for a value is an object like any other; a list of unlike parts that comes as a whole from a channel.
std::vector<std::string> doubts_about_operation(const std::string& name, const Json& value);
std::vector<std::string> doubts_about_two(const std::string& name, const Json& a, const Json& b);

}  // namespace cairn
