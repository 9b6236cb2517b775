// Ten thousand schedules that one process fires: how much later than their times the runs start, with the times spread
// over a minute, and with all of them at one moment.
#include <algorithm>
#include <cmath>
#include <thread>

#include "engine/schedule_rules.hpp"
#include "ops/bench/cases.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "ops/scheduling/due_schedules.hpp"
#include "storage/schedules/schedule_table.hpp"

namespace cairn {
namespace {

constexpr std::int64_t schedules_made = 10'000;
constexpr std::int64_t period_s = 60;
constexpr TimeUs second_us = 1'000'000;

// Straight into the table, asleep: a command each would take longer than what is measured. Those of one phase are due
// at one moment.
std::vector<std::string> make_schedules(ScheduleTable& table, bool is_spread) {
  std::vector<std::string> names;
  for (std::int64_t n = 0; n < schedules_made; ++n) {
    const Json fields = {{"graph", "bench_steps"},
                         {"input", {{"goal", "Find the way back."}}},
                         {"every_ms", period_s * 1'000},
                         {"phase_ms", is_spread ? n % period_s * 1'000 : 0},
                         {"overlap", "allow_all"}};
    const Result<ScheduleDefinition> definition = parse_schedule(fields);
    CHECK(definition.ok());
    ScheduleWrite write;
    write.row = {"s" + std::to_string(n),
                 1,
                 0,
                 never_us,
                 "utc",
                 canonical(schedule_json(*definition)),
                 canonical(state_json(ScheduleState{}))};
    write.zone = "UTC";
    CHECK(table.add(write));
    names.push_back(write.row.name);
  }
  return names;
}

// Their first times are those after this moment.
void wake_schedules(ScheduleTable& table, const std::vector<std::string>& names) {
  const TimeZone utc = TimeZone::utc();
  table.decide_named(names, [&utc](TimeUs now_us, const std::vector<ScheduleRow>& rows) {
    std::vector<ScheduleWrite> writes;
    for (const ScheduleRow& row : rows) {
      const Result<ScheduleDefinition> definition = parse_schedule(parse_stored(row.definition));
      ScheduleState state;
      state.decided = now_us / second_us;
      ScheduleWrite write{row, "UTC"};
      write.row.state = canonical(state_json(state));
      write.row.due_at = planned_occurrence(row.name, *definition, utc, state.decided + 1)->fires_at;
      writes.push_back(std::move(write));
    }
    return writes;
  });
}

Json lateness_of(Store& store) {
  RunFilter all;
  all.limit = 1'000'000;
  std::vector<double> late_ms;
  for (const RunRow& run : store.runs(all)) {
    const std::optional<TimeUs> at = parse_time(run.tags.at("occurrence"));
    CHECK(at.has_value());
    late_ms.push_back(static_cast<double>(run.started_at - *at) / 1'000);
  }
  std::sort(late_ms.begin(), late_ms.end());
  const auto part = [&late_ms](double of) {
    if (late_ms.empty()) return 0.0;
    const auto at = static_cast<std::size_t>(of * static_cast<double>(late_ms.size() - 1));
    return rounded(late_ms[at], 10);
  };
  return {{"runs", late_ms.size()}, {"p50_ms", part(0.5)}, {"p99_ms", part(0.99)}, {"most_ms", part(1)}};
}

Result<Json> measure_lateness(const std::string& dsn, BenchServer& server, std::int64_t seconds, bool is_spread) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  ScheduleTable table(opened->dsn, opened->store->identity());
  const std::vector<std::string> names = make_schedules(table, is_spread);
  server.checkpoint();
  wake_schedules(table, names);
  const TimeUs until = table.next_due().now_us + seconds * second_us;
  const std::unique_ptr<DueThread> fires = DueThread::start(*opened, {due_schedules});
  while (table.next_due().now_us < until) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  Json line = lateness_of(*opened->store);
  line["schedules"] = schedules_made;
  return line;
}

}  // namespace

Result<Json> measure_schedules(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Result<Json> spread = measure_lateness(dsn, server, std::max<std::int64_t>(options.seconds, period_s + 5), true);
  if (!spread) return spread;
  constexpr std::int64_t at_once_s = period_s + 15;
  const Result<Json> together = measure_lateness(dsn, server, at_once_s, false);
  if (!together) return together;
  Json line = *std::move(spread);
  line["value"] = line["p99_ms"];
  line["unit"] = "ms late at p99";
  line["all_at_once"] = *together;
  return line;
}

}  // namespace cairn
