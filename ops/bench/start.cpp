// Runs created per second, one by one and in batches, compared with the same rows written without an engine.
#include <algorithm>
#include <cmath>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/limit.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "storage/migration/migrator.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t runs_in_batch = 500;

// By one client on one thread, `in_each_call` at once.
Spent measure_starts(BenchServer& server, FreshDatabase& database, Client& client, const Extent& extent,
                     std::int64_t in_each_call) {
  const Json input = {{"goal", "Find the way back."}};
  const Clock::time_point end = Clock::now() + std::chrono::seconds(extent.seconds);
  const Meter before = read_meter(server, database.name(), nullptr);
  std::int64_t started = 0;
  while (extent.runs > 0 ? started < extent.runs : Clock::now() < end) {
    const std::int64_t count = extent.runs > 0 ? std::min(in_each_call, extent.runs - started) : in_each_call;
    start_runs(client, "bench_steps", count, input);
    started += count;
  }
  return between(before, read_meter(server, database.name(), nullptr), started);
}

Json part_of(const Spent& spent) {
  Json part = {{"value", std::round(spent.rate())},
               {"runs", spent.steps},
               {"client_cpu_us_per_run", rounded(spent.each(spent.client_cpu) * 1e6, 10)},
               {"wal_bytes_per_run", std::round(spent.each(spent.wal_bytes))}};
  if (spent.server_cpu) part["server_cpu_us_per_run"] = rounded(spent.each(*spent.server_cpu) * 1e6, 10);
  return part;
}

}  // namespace

Result<Json> measure_start(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const Extent extent{options.runs, options.seconds};
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  server.checkpoint();
  const Spent one_by_one = measure_starts(server, database, *opened->client, extent, 1);
  RunFilter one;
  one.limit = 1;
  const CannedRun sample = canned_run(*opened->store, opened->store->runs(one).front());
  const Spent in_batch = measure_starts(server, database, *opened->client, extent, runs_in_batch);
  FreshDatabase second(dsn);
  if (const Result<MigrateReport> report = migrate(second.dsn(), 1); !report) return report.error();
  server.checkpoint();
  const LimitReport limit = measure_limit_of_starts(second.dsn(), sample, extent);
  const double limit_rate = static_cast<double>(limit.runs) / limit.seconds;
  Json line = part_of(in_batch);
  line["unit"] = "runs/s";
  line["limit"] = std::round(limit_rate);
  line["ratio"] = rounded(in_batch.rate() / limit_rate, 1'000);
  line["in_each_batch"] = runs_in_batch;
  line["one_by_one"] = part_of(one_by_one);
  return line;
}

}  // namespace cairn
