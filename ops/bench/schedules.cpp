// Ten thousand schedules that one process fires: how much later than their times the runs start, with the times spread
// over a minute, and with all of them at one moment.
#include <algorithm>
#include <cmath>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "ops/scheduling/schedule_thread.hpp"
#include "storage/schedules/schedule_table.hpp"
#include "workers/schedules/zone_files.hpp"

namespace cairn {
namespace {

constexpr std::int64_t schedules_made = 10'000;
constexpr std::int64_t period_s = 60;
constexpr TimeUs second_us = 1'000'000;

// Straight into the table: a command each would take longer than what is measured. The first time is `first`, the
// schedule's own part of the period later if they are spread.
void make_schedules(ScheduleTable& table, std::int64_t count, UtcSeconds first, bool is_spread) {
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t phase = (first + (is_spread ? n % period_s : 0)) % period_s;
    const Json fields = {{"graph", "bench_steps"},
                         {"input", {{"goal", "Find the way back."}}},
                         {"every_ms", period_s * 1'000},
                         {"phase_ms", phase * 1'000},
                         {"overlap", "allow_all"}};
    const Result<ScheduleDefinition> definition = parse_schedule(fields);
    CHECK(definition.ok());
    ScheduleState state;
    state.decided = first - 1;
    ScheduleWrite write;
    write.row = {"s" + std::to_string(n),     1, 0, never_us, "utc", canonical(schedule_json(*definition)),
                 canonical(state_json(state))};
    write.row.look_at = (first + (is_spread ? n % period_s : 0)) * second_us;
    write.zone = "UTC";
    CHECK(table.add(write));
  }
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
  constexpr std::int64_t made_in_s = 60;  // they must not be due before all are there
  const UtcSeconds first = table.next_look().now_us / second_us + made_in_s;
  make_schedules(table, schedules_made, first, is_spread);
  server.checkpoint();
  if (table.next_look().now_us > first * second_us)
    return Error{Code::unavailable, "Expected to make the schedules within a minute, but it took longer."};
  const std::unique_ptr<ScheduleThread> fires = ScheduleThread::start(*opened);
  const TimeUs until = (first + seconds) * second_us;
  while (table.next_look().now_us < until) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  Json line = lateness_of(*opened->store);
  line["schedules"] = schedules_made;
  return line;
}

}  // namespace

Result<Json> measure_schedules(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Result<Json> spread = measure_lateness(dsn, server, std::max<std::int64_t>(options.seconds, period_s), true);
  if (!spread) return spread;
  constexpr std::int64_t at_once_s = 20;
  const Result<Json> together = measure_lateness(dsn, server, at_once_s, false);
  if (!together) return together;
  Json line = *std::move(spread);
  line["value"] = line["p99_ms"];
  line["unit"] = "ms late at p99";
  line["all_at_once"] = *together;
  return line;
}

}  // namespace cairn
