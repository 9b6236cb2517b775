// The schedules of the chosen database, opened for a command. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "ops/service/database.hpp"
#include "storage/schedules/schedule_table.hpp"
#include "workers/schedules/schedule_desk.hpp"

namespace cairn {

struct OpenedSchedules {
  Opened opened;
  std::unique_ptr<ScheduleTable> table;
  std::unique_ptr<ZoneFiles> zones;
  std::unique_ptr<ScheduleDesk> desk;
};

// Refuses as open_database.
Result<std::unique_ptr<OpenedSchedules>> open_schedules(const Settings& settings);

Error no_such_schedule(const std::string& name);
// Refuses `not_found`, and as ZoneFiles::find for its zone.
struct FoundSchedule {
  ScheduleRow row;
  ScheduleDefinition definition;
  std::shared_ptr<const KnownZone> zone;
};
Result<FoundSchedule> find_schedule(OpenedSchedules& schedules, const std::string& name);

}  // namespace cairn
