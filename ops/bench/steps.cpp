// Durable steps per second, each step a job in PostgreSQL that any worker could take, compared with what the database
// does for the same statements without an engine.
#include <algorithm>
#include <cmath>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/handlers.hpp"
#include "ops/bench/rig/limit.hpp"
#include "ops/bench/rig/traffic.hpp"
#include "storage/migration/migrator.hpp"

namespace cairn {
namespace {

Result<TrafficReport> measure_with(const std::string& dsn, BenchServer& server, const BenchOptions& options,
                                   int workers) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  Traffic traffic;
  traffic.workers = workers;
  traffic.extent = {options.runs, options.seconds};
  return measure_traffic(server, database, *opened, traffic);
}

// One run as a worker has written it.
Result<CannedRun> sample_run(const std::string& dsn, BenchServer& server) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  return canned_run(*opened->store, one_run(server, database, *opened));
}

Result<Spent> limit_of(const std::string& dsn, BenchServer& server, const CannedRun& sample, const Extent& extent) {
  const FreshDatabase database(dsn);
  if (const Result<MigrateReport> report = migrate(database.dsn(), 1); !report) return report.error();
  server.checkpoint();
  const Meter before = read_meter(server, database.name(), nullptr);
  const LimitReport report = measure_limit(database.dsn(), sample, extent);
  Spent spent = between(before, read_meter(server, database.name(), nullptr), report.steps);
  spent.seconds = report.seconds;
  return spent;
}

Json part_of(const TrafficReport& report, const Spent& limit) {
  Json part = per_step(report.spent);
  part.update(report.tables);
  part["value"] = std::round(report.spent.rate());
  part["limit"] = std::round(limit.rate());
  part["ratio"] = rounded(report.spent.rate() / limit.rate(), 1'000);
  part["limit_costs"] = per_step(limit);
  part["runs"] = report.runs;
  part["steps"] = report.spent.steps;
  part["seconds"] = rounded(report.spent.seconds, 1'000);
  part["worker_memory_mb"] = rounded(report.spent.worker_memory_mb, 10);
  return part;
}

}  // namespace

Result<Json> measure_steps(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const std::vector<int> counts = options.workers > 0 ? std::vector<int>{options.workers} : std::vector<int>{1, 2, 4};
  const Result<CannedRun> sample = sample_run(dsn, server);
  if (!sample) return sample.error();
  const Extent extent{options.runs, std::min(options.seconds, 60)};
  Json line;
  Json by_workers = Json::object();
  Result<Spent> before = limit_of(dsn, server, *sample, extent);
  if (!before) return before.error();
  for (const int workers : counts) {
    const Result<TrafficReport> report = measure_with(dsn, server, options, workers);
    if (!report) return report.error();
    const Result<Spent> after = limit_of(dsn, server, *sample, extent);
    if (!after) return after.error();
    const Json part = part_of(*report, both(*before, *after));
    before = after;
    by_workers[std::to_string(workers)] = part;
    if (!line.is_null() && line["value"] >= part["value"]) continue;
    line = part;
    line["workers"] = workers;
  }
  line["unit"] = "steps/s";
  line["limit_is"] = "the same statements without an engine, before and after";
  if (by_workers.size() > 1) line["by_workers"] = std::move(by_workers);
  return line;
}

}  // namespace cairn
