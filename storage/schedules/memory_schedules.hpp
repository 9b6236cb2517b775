// Schedules in memory: for the simulator, and for tests that have no database. Safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "storage/schedules/schedule_rows.hpp"

namespace cairn {

class MemorySchedules {
 public:
  // `clock`: the database's.
  explicit MemorySchedules(std::function<TimeUs()> clock) : clock_(std::move(clock)) {}

  ScheduleCalls calls();  // REQUIRES: this outlives them
  // As ScheduleCalls says.
  std::size_t decide_due(int limit, const DecideSchedules& decide);
  std::size_t decide_named(const std::vector<std::string>& names, const DecideSchedules& decide);
  std::size_t confirm_named(const std::vector<std::string>& names, const DecideSchedules& decide) {
    return decide_named(names, decide);
  }
  bool add(const ScheduleWrite& write);
  NextDue next_due() const;
  void recall();  // as ScheduleTable
  std::optional<std::string> definition_of(const std::string& name, std::int64_t revision) const;
  std::vector<TimeUs> started(const std::string& name, TimeUs from, TimeUs until) const;

  std::vector<KeptNote> notes(const std::string& name) const;  // the oldest first
  std::optional<ScheduleRow> row(const std::string& name) const;

 private:
  std::size_t decide(std::vector<ScheduleRow> rows, const DecideSchedules& decide);
  void keep(const ScheduleWrite& write);

  const std::function<TimeUs()> clock_;
  mutable std::recursive_mutex mutex_;
  std::map<std::string, ScheduleRow> rows_;
  std::map<std::string, std::vector<KeptNote>> notes_;
};

}  // namespace cairn
