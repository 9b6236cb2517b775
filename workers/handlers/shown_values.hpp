// Values as a prompt shows them: within a limit of bytes, by each and together, so that no tool's results make a prompt
// that no model takes. Pure functions, safe from any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/json.hpp"

namespace cairn {

// A value within a limit of bytes and still of its form: members and list elements are whole or left out, and next to a
// list NAME a count NAME_left_out says how many are. Only a text is cut.
Json shown_within(Json value, std::size_t bytes_max);

// Makes each value what is shown of it (shown_within), within `each_bytes_max` and all within `bytes_max` together:
// half of that is shared alike, and the other half goes to those that come first. One that its form keeps above its
// share is shown as the beginning of its JSON.
void show_together(const std::vector<Json*>& values, std::size_t each_bytes_max, std::size_t bytes_max);

}  // namespace cairn
