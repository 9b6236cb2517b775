// The time at which the first of some rows is due, which are decided then: schedules, keys of starts. A plain value.
#pragma once

#include <algorithm>
#include <optional>

#include "engine/id.hpp"

namespace cairn {

struct NextDue {
  TimeUs now_us = 0;                 // the database's clock
  std::optional<TimeUs> at_us = {};  // none: there is no row
};

// How long to sleep until then, at least 1 ms and at most `most_ms`; 0: it is time.
inline long sleep_ms(const NextDue& next, long most_ms) {
  const TimeUs until_us = next.at_us.value_or(never_us) - next.now_us;
  if (until_us <= 0) return 0;
  return static_cast<long>(std::min<TimeUs>(until_us / 1'000 + 1, most_ms));
}

}  // namespace cairn
