// Periods as people and models write them: a day, a month, a year, or a time back from now. In UTC. Pure functions,
// safe from any thread.
#pragma once

#include <optional>
#include <string_view>

#include "engine/id.hpp"

namespace cairn {

struct Period {
  TimeUs begin_us = 0;
  TimeUs end_us = 0;  // the first moment after it
};

// Reads "2024", "2024-05", "2024-Q2", "2024-05-31", "march" (the latest), an RFC 3339 time (a period without length),
// "3 months" and "3 months ago" (of day, week, month, quarter, year: from then until now), "today", "yesterday", "this
// week", "last month" and their like (whole weeks from Monday, months, quarters, years). Nothing for any other text.
std::optional<Period> read_period(std::string_view text, TimeUs now_us);

}  // namespace cairn
