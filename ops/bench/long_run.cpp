// One run of very many events, and very many runs in one worker.
#include <cmath>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/meter.hpp"
#include "ops/bench/rig.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t in_flight = 10'000;
constexpr std::int64_t in_flight_ms_max = 60'000;
constexpr std::int64_t parts = 10;  // of the long run: the first is held against the last
constexpr std::chrono::milliseconds look{2};
constexpr std::chrono::minutes patience{10};

void wait_for_steps(const WorkerProcesses& workers, std::int64_t steps) {
  const Clock::time_point limit = Clock::now() + patience;
  while (workers.executed().steps < steps) {
    if (Clock::now() > limit)
      throw std::runtime_error("Expected the benchmark's steps to go on, but they stand still.");
    std::this_thread::sleep_for(look);
  }
}

double steps_per_second(const WorkerProcesses& workers, std::int64_t until) {
  const Clock::time_point begin = Clock::now();
  const std::int64_t before = workers.executed().steps;
  wait_for_steps(workers, until);
  return static_cast<double>(workers.executed().steps - before) * 1'000 / ms_between(begin, Clock::now());
}

}  // namespace

// Pure steps that go on for ever; at the end another process takes the run over.
Result<Json> measure_long_run(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const std::int64_t part = options.events / parts;
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database.dsn());
  if (!opened) return opened.error();
  server.checkpoint();
  const RunId run = start_runs(*opened->client, "bench_loop", 1, Json::object()).front();
  double first = 0;
  double last = 0;
  {
    WorkerProcesses workers(database.dsn(), 1);
    first = steps_per_second(workers, part);
    wait_for_steps(workers, options.events - part);
    last = steps_per_second(workers, options.events);
    workers.stop();
  }
  const Clock::time_point begin = Clock::now();
  WorkerProcesses second(database.dsn(), 1);
  wait_for_steps(second, 1);
  const double taken_over = ms_between(begin, Clock::now());
  const double memory = second.peak_memory_mb();
  second.stop();
  return Json{{"value", std::round(last)},
              {"unit", "steps/s"},
              {"limit", std::round(first)},
              {"limit_is", "the first tenth of the same run"},
              {"ratio", rounded(last / first, 1'000)},
              {"events", opened->store->run(run)->head},
              {"taken_over_ms", std::round(taken_over)},
              {"worker_memory_mb", rounded(memory, 10)}};
}

Result<Json> measure_in_flight(const std::string& dsn, BenchServer&, const BenchOptions& options) {
  const std::int64_t runs = options.runs > 0 ? options.runs : in_flight;
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database.dsn());
  if (!opened) return opened.error();
  const WorkerProcesses idle(database.dsn(), 1, {"--concurrency", std::to_string(runs)});
  const double empty = idle.peak_memory_mb();
  const std::int64_t ms = std::min<std::int64_t>(in_flight_ms_max, 2'000 + runs);
  for (std::int64_t started = 0; started < runs; started += 500)
    start_runs(*opened->client, "bench_hold", std::min<std::int64_t>(500, runs - started), {{"ms", ms}});
  const Clock::time_point begin = Clock::now();
  wait_for_steps(idle, runs);
  if (ms_between(begin, Clock::now()) > static_cast<double>(ms))
    throw std::runtime_error("Expected all runs to be in flight at once, but the first had ended before the last.");
  const double full = idle.peak_memory_mb();
  wait_for_all(database, runs);
  return Json{{"value", rounded(full, 10)},
              {"unit", "MB"},
              {"runs", runs},
              {"idle_mb", rounded(empty, 10)},
              {"kb_per_run", rounded((full - empty) * 1'024 / static_cast<double>(runs), 10)},
              {"until_the_end_mb", rounded(idle.peak_memory_mb(), 10)}};
}

}  // namespace cairn
