// The decisions of a schedule: which of its occurrences start, wait, are skipped or missed, and when the next decision
// is due. The caller holds the lock of the schedule's row, so one process decides at a time. A decision changes the
// state and returns the notes to record with it and the runs to cancel; runs to start stay in the state until each is
// confirmed (at least once), so another process goes on where one died. A run's id follows from the schedule and the
// time, so a start that is made twice is one run. Pure; safe from any thread, with a state of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/schedule_state.hpp"
#include "engine/time_zone.hpp"

namespace cairn {

inline constexpr std::size_t open_max = 100;             // open runs of a schedule that it looks after, the newest
inline constexpr std::size_t waiting_max = 1'000;        // occurrences of a schedule that wait
inline constexpr std::size_t decided_at_once_max = 200;  // occurrences in one decision
inline constexpr std::size_t backfilled_at_once_max = 1'000;
inline constexpr TimeUs waiting_check_us = 1'000'000;   // how often it is asked of a run that is waited for
inline constexpr TimeUs starting_check_us = 5'000'000;  // after which a start that is not confirmed is done again

// The inputs of a decision.
struct ScheduleView {
  std::string name;
  std::int64_t revision = 0;
  const ScheduleDefinition& definition;
  const TimeZone& zone;
  TimeUs now_us = 0;                                                              // the database's clock
  std::function<bool(const RunId&)> has_ended;                                    // or is no more
  std::function<RunId(const std::string& graph, const std::string& key)> run_of;  // see keyed_run_id
};

struct ScheduleDecision {
  std::vector<ScheduleNote> notes = {};
  std::vector<RunId> cancels = {};  // runs to cancel, with their cleanup
  TimeUs due_at = never_us;         // of the next decision
};

// More than clock_ahead_max_us of its times to come have been decided, since the clock was ahead then. Each function
// below first comes back from there: the next times are those after now, and a note `resumed` says so.
bool is_ahead(const ScheduleState& state, TimeUs now_us);

// Decides all that is due.
ScheduleDecision decide_schedule(ScheduleState& state, const ScheduleView& view);

// How a start went; Done: there is the run now.
struct StartedOccurrence {
  RunId run;
  Status start;
};
// Takes off what was to be started, and goes on as decide_schedule().
ScheduleDecision confirm_starts(ScheduleState& state, const ScheduleView& view,
                                const std::vector<StartedOccurrence>& done);

// An occurrence of now, by a person, whether paused or not.
ScheduleDecision trigger_schedule(ScheduleState& state, const ScheduleView& view, Overlap overlap,
                                  const std::string& actor);

// Those of the times from `from` to `until` (both included) that have been decided and that `has_run` does not know:
// they run now. Refuses `limit`: more than backfilled_at_once_max.
struct BackfillRange {
  TimeUs from = 0;
  TimeUs until = 0;
  Overlap overlap = Overlap::buffer_all;
};
Result<ScheduleDecision> backfill_schedule(ScheduleState& state, const ScheduleView& view, const BackfillRange& range,
                                           const std::function<bool(TimeUs at)>& has_run, const std::string& actor);

// Nothing regular starts, and nothing that waits. Refuses `conflict`: it is paused.
Result<ScheduleDecision> pause_schedule(ScheduleState& state, const ScheduleView& view, const std::string& reason,
                                        const std::string& actor);
// The times that have passed meanwhile are on record as missed. Refuses `conflict`: it is not paused.
Result<ScheduleDecision> resume_schedule(ScheduleState& state, const ScheduleView& view, const std::string& actor);

// Before another definition: the times of this one that have passed are decided, also one that its jitter still holds
// back, those that are too many for one decision are on record as missed, and the next definition begins now.
ScheduleDecision leave_definition(ScheduleState& state, const ScheduleView& view);

// As leave_definition(); then what waits is skipped, and the last note says `removed`. Without that note the schedule
// stays: what it was to start is not confirmed yet, since its notes say that it was started.
ScheduleDecision remove_schedule(ScheduleState& state, const ScheduleView& view, const std::string& actor);

// A time of the schedule as it is, and when it fires: later by a part of the jitter that depends on the schedule and
// the time alone, and that is shorter than the pause to the next one, so that the order stays.
struct PlannedOccurrence {
  TimeUs at = 0;
  TimeUs fires_at = 0;

  bool operator==(const PlannedOccurrence&) const = default;
};
std::optional<PlannedOccurrence> planned_occurrence(const std::string& name, const ScheduleDefinition& definition,
                                                    const TimeZone& zone, UtcSeconds from);

}  // namespace cairn
