// Percent-encoded text, as URLs and the references of JSON Schema have it. Pure functions, safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace cairn {

// No percent sign in it is without two hexadecimal digits.
bool is_percent_encoded(std::string_view text);

// With each %XX read once; a percent sign without two digits stays.
std::string without_percents(std::string_view text);

}  // namespace cairn
