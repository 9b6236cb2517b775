// The known word that a person may have meant. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// The known word with the fewest changed, missing, added or swapped letters: at most one for every three of the word's,
// and at most three. "" if none is so near, or the word is longer than 64 bytes.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// " (did you mean X?)", or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace cairn
