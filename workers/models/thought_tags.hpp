// The tags around what a model thinks before it replies. Constant data, safe from any thread.
#pragma once

#include <array>
#include <string_view>

namespace cairn {

inline constexpr std::array<std::string_view, 3> thoughts_begin = {"<think>", "<thinking>", "<reasoning>"};
inline constexpr std::array<std::string_view, 3> thoughts_end = {"</think>", "</thinking>", "</reasoning>"};

}  // namespace cairn
