// The moments and spans of time that the tests of a session share.
#pragma once

#include "engine/id.hpp"

namespace cairn {

inline constexpr TimeUs second = 1'000'000;
inline constexpr TimeUs noon = 1'700'000'000'000'000;

}  // namespace cairn
