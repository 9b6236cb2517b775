// Schedules as they are shown: JSON of a schedule, of its coming times and of its notes, and the answer to "why did it
// not run". The command line and the API give the same. Not thread-safe where zones are looked up.
#pragma once

#include <string>
#include <vector>

#include "engine/schedule_rules.hpp"
#include "storage/schedules/schedule_table.hpp"
#include "storage/store.hpp"
#include "workers/schedules/zone_files.hpp"

namespace cairn {

// {"name", "revision", the fields of its definition, "words", "next_at", "paused", "open": [{"run", "at"}], "waiting":
// [TIME]}. `next_at` is null if nothing regular will start. With "fault", a sentence, where this process cannot fire
// it: it lacks the zone's file, or the definition is one of a newer release. Throws as the store.
Json schedule_line(const ScheduleRow& row, ZoneFiles& zones, Store& store);

// {"at", "local", "zone"}; with a jitter also "fires_at". At most `count` times at or after `from`.
std::vector<Json> next_lines(const std::string& name, const ScheduleDefinition& definition, const TimeZone& zone,
                             TimeUs from, std::int64_t count);
inline constexpr std::int64_t next_count_max = 10'000;

// {"number", "recorded_at", "kind", "actor", "revision", "at"?, "until"?, "count"?, "run"?, "says"?, "definition"?}
Json note_line(const KeptNote& kept);
// The notes that are said in sentences: without a start that was refused, as a later note says. REQUIRES: the oldest is
// first.
std::vector<KeptNote> notes_to_say(std::vector<KeptNote> notes);
// "The occurrence of 2026-11-23 09:00 CET was skipped, because run ... was still open."
std::string note_sentence(const KeptNote& kept, const TimeZone& zone);

// The outcome of each time at `at`, a moment or a day of the schedule's zone, in a sentence; at least one. One that was
// removed is explained by its notes. Refuses `invalid` (`at`), `not_found` a name that none has or had, and as
// ZoneFiles::find.
Result<std::vector<std::string>> explain_schedule(ScheduleTable& table, ZoneFiles& zones, const std::string& name,
                                                  const std::string& at);

}  // namespace cairn
