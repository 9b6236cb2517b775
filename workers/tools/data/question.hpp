// Questions on data, read by word rules: the goal's analysis in a language model's place. Pure functions, safe from any
// thread.
#pragma once

#include <string>

#include "engine/json.hpp"

namespace cairn {

// {"kind", "references", "measure", "group_by", "month", "year", "order", "limit", "page", "wants_analysis",
// "question", "reason"}, as the prompt of goal_analysis asks for it. `clarification`: the answer to a question back;
// "": none.
Json read_data_question(const std::string& question, const std::string& clarification);

}  // namespace cairn
