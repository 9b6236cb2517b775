// The schedules in PostgreSQL, and their notes. Safe from any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/postgres/connection_pool.hpp"
#include "storage/schedules/schedule_rows.hpp"

namespace cairn {

class ScheduleTable {
 public:
  // Throws AnotherDatabase later if the DSN leads to another database than that of `identity`. `patience_ms`: how long
  // a failing database is asked again.
  ScheduleTable(std::string dsn, const std::string& identity, std::int64_t patience_ms = 10'000);

  // All functions throw StoreUnavailable and PostgresError as the store does; see ScheduleCalls. decide_due() and
  // confirm_named() wait for no disk where the runs are in the same database: the start between them waits, and the log
  // has one order. A server that crashes may forget them, and they are decided again; decision 0118 names the one gap.
  ScheduleCalls calls();  // REQUIRES: this outlives them

  std::size_t decide_due(int limit, const DecideSchedules& decide);
  std::size_t decide_named(const std::vector<std::string>& names, const DecideSchedules& decide);
  std::size_t confirm_named(const std::vector<std::string>& names, const DecideSchedules& decide);
  bool add(const ScheduleWrite& write);
  NextDue next_due();
  std::optional<std::string> definition_of(const std::string& name, std::int64_t revision);
  std::vector<TimeUs> started(const std::string& name, TimeUs from, TimeUs until);

  std::optional<ScheduleRow> row(const std::string& name);
  std::vector<ScheduleRow> rows(const std::string& after, std::int32_t limit);  // by name
  // The newest first, those before the number `before`.
  std::vector<KeptNote> notes(const std::string& name, std::int64_t before, std::int32_t limit);
  // About occurrences from `from` to `until`, both included; in order.
  std::vector<KeptNote> notes_between(const std::string& name, TimeUs from, TimeUs until, std::int32_t limit);
  // The schedule's own that the clock came back from ahead, after the number `after`; in order.
  std::vector<KeptNote> notes_of_return(const std::string& name, std::int64_t after, std::int32_t limit);

  // The zones of schedules, with the mark of the file that each was looked at by.
  std::vector<std::pair<std::string, std::string>> zones();
  // Schedules of these zones that were looked at by another mark are looked at now.
  void check_zones(const std::vector<std::pair<std::string, std::string>>& marks);
  // Schedules that were last looked at while the clock was ahead, and would not be again for more than a day, are
  // looked at now.
  void recall();

 private:
  bool starts_are_in_one_log();

  PostgresPool pool_;
};

}  // namespace cairn
