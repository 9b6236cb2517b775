// Parts of what is asked about schedules, from texts. Each function refuses `invalid` with one sentence. Pure
// functions, safe from any thread.
#pragma once

#include <string>

#include "engine/result.hpp"

namespace cairn {

// "500ms", "30s", "90m", "12h", "7d", as milliseconds; of at most a year. The sentence of a refusal says `at_most`, the
// bound that the option has.
Result<std::int64_t> span_argument(const std::string& text, const std::string& option,
                                   const std::string& at_most = "a year");
Result<std::string> schedule_name_argument(const std::string& text);

}  // namespace cairn
