// The latency of one run from the call that starts it to its end, and of its first step until an idle worker of another
// process takes it, compared with the same commits one after another without an engine.
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/limit.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "storage/clock.hpp"
#include "storage/migration/migrator.hpp"

namespace cairn {
namespace {

constexpr int latency_runs = 300;
constexpr int warming_runs = 20;

struct LatencyTimes {
  std::vector<double> whole;
  std::vector<double> until_started;
};

LatencyTimes measure_runs(Opened& opened, FreshDatabase& database, int count) {
  const WorkerProcesses workers(database, 1);
  LatencyTimes times;
  for (int n = -warming_runs; n < count; ++n) {
    std::this_thread::sleep_for(idle_pause);
    const TimeUs called_at = steady_us();
    const double whole = time_of_one(*opened.client, workers, "bench_steps", Json::object());
    const double until_started = static_cast<double>(workers.executed().first_at_us - called_at) / 1'000;
    if (n < 0) continue;
    times.whole.push_back(whole);
    times.until_started.push_back(until_started);
  }
  return times;
}

}  // namespace

Result<Json> measure_latency(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const int count = options.runs > 0 ? options.runs : latency_runs;
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  server.checkpoint();
  const LatencyTimes times = measure_runs(*opened, database, count);
  RunFilter one;
  one.limit = 1;
  const CannedRun sample = canned_run(*opened->store, opened->store->runs(one).front());
  const FreshDatabase second(dsn);
  if (const Result<MigrateReport> report = migrate(second.dsn(), 1); !report) return report.error();
  const double limit = quantile(measure_limit_alone(second.dsn(), sample, count), 0.5);
  Json line = quantiles(times.whole);
  const Json started = quantiles(times.until_started);
  line["value"] = line["p50_ms"];
  line["unit"] = "ms";
  line["limit"] = rounded(limit, 1'000);
  line["ratio"] = rounded(limit / line["p50_ms"].get<double>(), 1'000);
  line["runs"] = count;
  line["start_p50_ms"] = started["p50_ms"];
  line["start_p99_ms"] = started["p99_ms"];
  return line;
}

}  // namespace cairn
