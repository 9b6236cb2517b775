// When rows that are decided at times have to be looked at next. A plain value.
#pragma once

#include <optional>

#include "engine/id.hpp"

namespace cairn {

struct NextLook {
  TimeUs now_us = 0;                 // the database's clock
  std::optional<TimeUs> at_us = {};  // none: there is no row
};

}  // namespace cairn
