// Times as a person at a terminal reads them: in the zone of TZ or of this machine. JSON never has them. Safe from any
// thread.
#pragma once

#include <optional>
#include <string>

#include "engine/id.hpp"

namespace cairn {

std::string local_day(TimeUs at_us);     // 2026-11-25
std::string local_clock(TimeUs at_us);   // 15:39:02
std::string local_time(TimeUs at_us);    // both
std::string local_moment(TimeUs at_us);  // with the zone, for sentences: 2026-11-25 15:39:02 CET
// The same of a time as JSON has it; the text itself if it is none.
std::string local_moment_of(const std::string& iso);
// For lists: the clock of today, 11-25 15:39 of this year, else the day.
std::string local_short(TimeUs at_us, TimeUs now_us);
// The time that local_time() writes so. Nothing: another text, or one that stands for no time or for two, as clocks are
// put forward or back.
std::optional<TimeUs> parse_local_time(const std::string& text);
// The zone's name at that time, as CET.
std::string zone_name(TimeUs at_us);

}  // namespace cairn
