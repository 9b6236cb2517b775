#include "ops/commands/schedules/opened_schedules.hpp"

namespace cairn {

Result<std::unique_ptr<OpenedSchedules>> open_schedules(const Settings& settings) {
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  auto all = std::make_unique<OpenedSchedules>();
  all->opened = *std::move(opened);
  Opened& with = all->opened;
  all->table = std::make_unique<ScheduleTable>(with.dsn, with.store->identity());
  all->zones = std::make_unique<ZoneFiles>();
  all->desk = std::make_unique<ScheduleDesk>(all->table->calls(), *with.store, *with.client, *all->zones);
  return all;
}

Error no_such_schedule(const std::string& name) {
  return {Code::not_found, "Expected a schedule, but none is named " + name + ": see `cairn schedule list`."};
}

Result<FoundSchedule> find_schedule(OpenedSchedules& schedules, const std::string& name) {
  std::optional<ScheduleRow> row = schedules.table->row(name);
  if (!row) return no_such_schedule(name);
  Result<ScheduleDefinition> definition = parse_schedule(parse_stored(row->definition));
  if (!definition) return definition.error();
  const auto zone = schedules.zones->find(definition->zone);
  if (!zone) return zone.error();
  return FoundSchedule{*std::move(row), *std::move(definition), *zone};
}

}  // namespace cairn
