// Steps of a queue that is served by keys, 10,000 of them, of which one floods: how long those of the others wait,
// compared with the same without the flood. With steps of different lengths, and with steps of one length: slots that
// are filled together then become free together, so that all wait for the next such moment.
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

enum class Lengths : std::uint8_t { different, one };  // of the same mean

Json input_of(const std::string& customer, std::size_t n, Lengths lengths) {
  constexpr std::int64_t spread = step_ms + 1;  // to half of it less, and half of it more
  const std::int64_t drawn = static_cast<std::int64_t>(n) * 7'919 % spread;
  return {{"customer", customer}, {"ms", lengths == Lengths::one ? step_ms : step_ms / 2 + drawn}};
}

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

void start_flood(Client& client, std::int64_t runs, Lengths lengths) {
  constexpr std::size_t at_once = 500;
  for (std::int64_t begun = 0; begun < runs; begun += at_once) {
    std::vector<Json> some;
    for (std::size_t n = 0; n < at_once; ++n) some.push_back(input_of("flood", n, lengths));
    start_runs(client, "bench_hold", some);
  }
}

Result<Waits> measure_waits(const std::string& dsn, BenchServer& server, const BenchOptions& options, Lengths lengths,
                            bool floods) {
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
    start_flood(*opened->client, waits.flooding, lengths);
  }
  server.checkpoint();
  WorkerProcesses workers(database, processes, {"--concurrency", std::to_string(slots_of_process)});
  const std::vector<PacedRun> others =
      start_paced(*opened, "bench_hold", times_of_others(processes, options.seconds), [lengths](std::size_t n) {
        return input_of("c" + std::to_string(n * 7'919 % quiet_keys), n, lengths);  // a prime: each key, in no order
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

Result<Json> measure_both(const std::string& dsn, BenchServer& server, const BenchOptions& options, Lengths lengths) {
  const Result<Waits> alone = measure_waits(dsn, server, options, lengths, false);
  if (!alone) return alone.error();
  const Result<Waits> flooded = measure_waits(dsn, server, options, lengths, true);
  if (!flooded) return flooded.error();
  const double mean_alone = mean(alone->of_others), mean_flooded = mean(flooded->of_others);
  return Json{{"value", rounded(mean_flooded, 1'000)},
              {"limit", rounded(mean_alone, 1'000)},
              {"ratio", rounded(mean_flooded / mean_alone, 1'000)},
              {"ratio_p99", rounded(quantile(flooded->of_others, p99) / quantile(alone->of_others, p99), 1'000)},
              {"runs", alone->of_others.size()},
              {"flooding", flooded->flooding},
              {"alone", waits_json(alone->of_others)},
              {"flooded", waits_json(flooded->of_others)}};
}

}  // namespace

Result<Json> measure_queue_keys(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Result<Json> line = measure_both(dsn, server, options, Lengths::different);
  if (!line) return line;
  const Result<Json> of_one_length = measure_both(dsn, server, options, Lengths::one);
  if (!of_one_length) return of_one_length;
  line->update({{"unit", "ms that a step of the others waits, on average"},
                {"limit_is", "the same without the flood"},
                {"keys", quiet_keys + 1},
                {"steps_of_one_length", *of_one_length}});
  return line;
}

}  // namespace cairn
