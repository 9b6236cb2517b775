// The sentences of a text in prose, by marks and blank lines alone. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// Without the white space between them. A mark before a digit or a small letter ends none: "4.1 million", "e. g. so".
std::vector<std::string> sentences_of(std::string_view text);

}  // namespace cairn
