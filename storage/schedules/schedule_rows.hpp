// The rows of schedules, and writes of them with the notes that go on record in the same transaction. Both
// tables of schedules (PostgreSQL's and the one in memory) are used through ScheduleCalls. Plain values; a call may
// come from any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/schedule_state.hpp"
#include "storage/starts/next_due.hpp"

namespace cairn {

struct ScheduleRow {
  std::string name;
  std::int64_t revision = 1;
  std::int64_t notes = 0;  // the number of its last note
  TimeUs due_at = never_us;
  std::string zone_mark = {};  // names the bytes of the zone's file that due_at is by
  std::string definition;      // of schedule_json
  std::string state;           // of state_json
};

struct ScheduleWrite {
  ScheduleRow row;  // `notes` is not read
  std::string zone;
  std::vector<ScheduleNote> notes = {};
  bool is_removed = false;
};

struct KeptNote {
  std::int64_t number = 0;
  TimeUs recorded_at = 0;
  ScheduleNote note;
};

// As they stand: the times of a `missed` note end where the database's clock came back from ahead, as those after it
// are decided again, and how many are left is not counted (0); without the notes that have none left. REQUIRES: in the
// order of their numbers, with the schedule's own `resumed` notes.
std::vector<KeptNote> notes_that_stand(std::vector<KeptNote> notes);

// Given the database's clock and rows that this caller has locked. May be called again, for other rows, after a
// failure.
using DecideSchedules = std::function<std::vector<ScheduleWrite>(TimeUs now_us, const std::vector<ScheduleRow>& rows)>;

// The calls of a table. All throw StoreUnavailable; what they write may then be there or not.
struct ScheduleCalls {
  // Locks at most `limit` rows whose time has come, which no other caller has locked, and writes what `decide` returns.
  // Returns how many there were. A server that crashes may forget this as long as no run that was started after it is
  // kept; they are decided again then.
  std::function<std::size_t(int limit, const DecideSchedules& decide)> decide_due;
  // The same for the rows of these names, as far as they are there; waits for other callers.
  std::function<std::size_t(const std::vector<std::string>& names, const DecideSchedules& decide)> decide_named;
  // The same for what is confirmed of starts that were made: a server that crashes may forget it, and then it is
  // confirmed again.
  std::function<std::size_t(const std::vector<std::string>& names, const DecideSchedules& decide)> confirm_named;
  // False: there is one of that name.
  std::function<bool(const ScheduleWrite& write)> add;
  std::function<NextDue()> next_due;
  std::function<std::optional<std::string>(const std::string& name, std::int64_t revision)> definition_of;
  std::function<std::vector<TimeUs>(const std::string& name, TimeUs from, TimeUs until)> started;
};

// Those of a table that has functions of these names. REQUIRES: it outlives them.
template <class Table>
ScheduleCalls schedule_calls_of(Table& table) {
  return {.decide_due = [&table](int limit, const DecideSchedules& decide) { return table.decide_due(limit, decide); },
          .decide_named = [&table](const std::vector<std::string>& names,
                                   const DecideSchedules& decide) { return table.decide_named(names, decide); },
          .confirm_named = [&table](const std::vector<std::string>& names,
                                    const DecideSchedules& decide) { return table.confirm_named(names, decide); },
          .add = [&table](const ScheduleWrite& write) { return table.add(write); },
          .next_due = [&table] { return table.next_due(); },
          .definition_of = [&table](const std::string& name,
                                    std::int64_t revision) { return table.definition_of(name, revision); },
          .started = [&table](const std::string& name, TimeUs from,
                              TimeUs until) { return table.started(name, from, until); }};
}

}  // namespace cairn
