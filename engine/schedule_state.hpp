// The state of a schedule, and the notes that make up its history. Plain values, safe to read from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/id.hpp"
#include "engine/schedule.hpp"

namespace cairn {

// A run that an occurrence has started, or is about to.
struct OccurrenceRun {
  TimeUs at = 0;  // the time of the occurrence
  RunId run;
  std::string graph = {};          // of an occurrence that is about to start
  std::int64_t revision = 0;       // whose input and tags it has
  std::vector<RunId> ending = {};  // runs that are ended at once first

  bool operator==(const OccurrenceRun&) const = default;
};

// An occurrence that waits for a run to end.
struct WaitingOccurrence {
  TimeUs at = 0;
  bool cancels = false;  // what is open is cancelled for it
  std::string actor = {};

  bool operator==(const WaitingOccurrence&) const = default;
};

struct Pausing {
  TimeUs at_us = 0;
  std::string by;
  std::string reason;

  bool operator==(const Pausing&) const = default;
};

struct ScheduleState {
  UtcSeconds decided = 0;  // what becomes of every time up to this one has been decided
  std::optional<Pausing> paused = {};
  std::vector<OccurrenceRun> starting = {};  // decided; a process starts them, again if it is not known to have done so
  std::vector<OccurrenceRun> open = {};      // started, and not known to have ended
  std::vector<WaitingOccurrence> waiting = {};

  bool operator==(const ScheduleState&) const = default;
};

Json state_json(const ScheduleState& state);
ScheduleState read_state(const Json& stored);  // REQUIRES: of state_json

// The kinds of notes: something happened to a schedule.
enum class NoteKind : std::uint8_t {
  added,
  edited,
  removed,
  paused,
  resumed,
  started,  // an occurrence: its run, whose id follows from the schedule and the time
  waiting,  // an occurrence that waits for a run to end
  skipped,  // an occurrence that does not run, and why
  missed,   // occurrences whose time passed while nothing could start them: the first, the last, how many
  refused,  // an occurrence whose run could not start, and why
};
std::string_view to_string(NoteKind kind);
std::optional<NoteKind> parse_note_kind(std::string_view text);

struct ScheduleNote {
  NoteKind kind = NoteKind::added;
  std::optional<TimeUs> at = {};     // of the occurrence, or of the first one
  std::optional<TimeUs> until = {};  // the last one
  std::int64_t count = 0;            // of occurrences; at least so many if it is missed_count_max
  std::optional<RunId> run = {};
  std::string says = {};
  std::string actor = {};
  std::int64_t revision = 0;
  std::string definition = {};  // of what was added or edited

  bool operator==(const ScheduleNote&) const = default;
};

inline constexpr std::int64_t missed_count_max = 10'000;

// "2026-11-23T08:00:00Z"; parts of a second if there are some.
std::string occurrence_text(TimeUs at);
// The key of its run: the schedule and the time.
std::string occurrence_key(const std::string& schedule, TimeUs at);

}  // namespace cairn
