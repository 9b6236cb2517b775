// Counts of starts in windows of time, by which rates are judged. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/id.hpp"

namespace cairn::test {

// The most starts in any window of this length, both of its ends included.
inline std::int64_t most_in_a_window(std::vector<TimeUs> starts, TimeUs length_us) {
  std::sort(starts.begin(), starts.end());
  std::size_t most = 0, first = 0;
  for (std::size_t last = 0; last < starts.size(); ++last) {
    while (starts[last] - starts[first] > length_us) ++first;
    most = std::max(most, last - first + 1);
  }
  return static_cast<std::int64_t>(most);
}

}  // namespace cairn::test
