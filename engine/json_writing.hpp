// Writing JSON text by hand. Pure functions, safe from any thread.
#pragma once

#include <algorithm>
#include <string_view>

namespace cairn {

// Printable ASCII that stands for itself inside quotes; all else is left to the library, which also checks its UTF-8.
inline bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

}  // namespace cairn
