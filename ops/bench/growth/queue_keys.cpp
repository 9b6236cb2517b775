// Steps of a queue that is served by keys, 10,000 of them, of which one floods: how long those of the others wait,
// compared with the same without the flood.
#include <cmath>
#include <numeric>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/paced_runs.hpp"
#include "ops/bench/rig/rig.hpp"
#include "storage/limit_book.hpp"

namespace cairn {
namespace {

constexpr std::int64_t quiet_keys = 9'999;
constexpr int slots_of_process = 10;
constexpr std::int64_t step_ms = 20;
constexpr double load_of_others = 0.5;  // of what the slots can do
constexpr double p99 = 0.99;
constexpr TimeUs second_of_pace_us = 1'000'000;

Json input_of(const std::string& customer) { return {{"customer", customer}, {"ms", step_ms}}; }

// Ascending, one after the other at an even pace.
std::vector<TimeUs> times_of_others(int processes, std::int64_t seconds) {
  const double per_second = load_of_others * processes * slots_of_process * 1'000 / static_cast<double>(step_ms);
  std::vector<TimeUs> times(static_cast<std::size_t>(per_second * static_cast<double>(seconds)));
  for (std::size_t n = 0; n < times.size(); ++n)
    times[n] = static_cast<TimeUs>(static_cast<double>(n) / per_second * second_of_pace_us);
  return times;
}

// More than there is room for until the others are done.
std::int64_t flood_of(int processes, std::int64_t seconds) {
  return 2 * processes * slots_of_process * seconds * 1'000 / step_ms;
}

struct Waits {
  std::vector<double> of_others;  // ms
  std::int64_t flooding = 0;      // runs
};

Result<Waits> measure_waits(const std::string& dsn, BenchServer& server, const BenchOptions& options, bool floods) {
  const int processes = options.workers > 0 ? options.workers : 2;
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  QueueLimits limits{.name = "default"};
  limits.key = "/customer";
  if (const auto set = opened->store->limits().change_limits({limits, "bench"}); !set) return set.error();
  Waits waits;
  if (floods) {
    waits.flooding = flood_of(processes, options.seconds);
    const std::vector<Json> some(500, input_of("flood"));
    for (std::int64_t begun = 0; begun < waits.flooding; begun += std::ssize(some))
      start_runs(*opened->client, "bench_hold", some);
  }
  server.checkpoint();
  WorkerProcesses workers(database, processes, {"--concurrency", std::to_string(slots_of_process)});
  const std::vector<PacedRun> others =
      start_paced(*opened, "bench_hold", times_of_others(processes, options.seconds), [](std::size_t n) {
        return input_of("c" + std::to_string(n * 7'919 % quiet_keys));  // a prime: each key in turn, in no order
      });
  wait_for_ends(*opened->store, others);
  workers.kill();
  for (const PacedRun& run : others) waits.of_others.push_back(wait_ms(*opened->client, run));
  return waits;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Json waits_json(const std::vector<double>& waits) {
  Json line = quantiles(waits);
  line["max_ms"] = rounded(quantile(waits, 1), 1'000);
  return line;
}

}  // namespace

Result<Json> measure_queue_keys(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const Result<Waits> alone = measure_waits(dsn, server, options, false);
  if (!alone) return alone.error();
  const Result<Waits> flooded = measure_waits(dsn, server, options, true);
  if (!flooded) return flooded.error();
  const double mean_alone = mean(alone->of_others), mean_flooded = mean(flooded->of_others);
  return Json{{"value", rounded(mean_flooded, 1'000)},
              {"unit", "ms that a step of the others waits, on average"},
              {"limit", rounded(mean_alone, 1'000)},
              {"limit_is", "the same without the flood"},
              {"ratio", rounded(mean_flooded / mean_alone, 1'000)},
              {"ratio_p99", rounded(quantile(flooded->of_others, p99) / quantile(alone->of_others, p99), 1'000)},
              {"keys", quiet_keys + 1},
              {"runs", alone->of_others.size()},
              {"flooding", flooded->flooding},
              {"alone", waits_json(alone->of_others)},
              {"flooded", waits_json(flooded->of_others)}};
}

}  // namespace cairn
