// The time at which rows that are decided at times have to be looked at next. A plain value.
#pragma once

#include <algorithm>
#include <optional>

#include "engine/id.hpp"

namespace cairn {

struct NextLook {
  TimeUs now_us = 0;                 // the database's clock
  std::optional<TimeUs> at_us = {};  // none: there is no row
};

// How long to sleep until then, at least 1 ms and at most `most_ms`; 0: it is time.
inline long sleep_ms(const NextLook& next, long most_ms) {
  const TimeUs until_us = next.at_us.value_or(never_us) - next.now_us;
  if (until_us <= 0) return 0;
  return static_cast<long>(std::min<TimeUs>(until_us / 1'000 + 1, most_ms));
}

}  // namespace cairn
