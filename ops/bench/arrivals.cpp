// Recorded arrivals at many times their pace: how long each run waits for its first step.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/paced_runs.hpp"
#include "ops/bench/rig/rig.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

constexpr std::int64_t pace = 50;

// The time of each arrival after the first, at our pace. Lines "2023-11-16 18:17:03.9799600,..." after a head.
Result<std::vector<TimeUs>> read_arrivals(const std::string& path) {
  const Result<std::string> text = read_text_file(path, "the arrivals");
  if (!text) return text.error();
  std::vector<TimeUs> times;
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::string at = line.substr(0, line.find(','));
    if (at.size() > 10) at[10] = 'T';
    const std::optional<TimeUs> time = parse_time(at + "Z");
    if (!time) return Error{Code::invalid, "Expected a time at the beginning of each arrival, but got: " + at};
    times.push_back(*time);
  }
  if (times.empty()) return Error{Code::invalid, "Expected arrivals in " + path + ", but there are none."};
  std::sort(times.begin(), times.end());
  const TimeUs first = times.front();
  for (TimeUs& time : times) time = (time - first) / pace;
  return times;
}

}  // namespace

Result<Json> measure_arrivals(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  if (options.arrivals.empty()) return Json{{"left_out", "Expected a file of arrivals, but there is no --arrivals."}};
  const Result<std::vector<TimeUs>> times = read_arrivals(options.arrivals);
  if (!times) return times.error();
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  WorkerProcesses workers(database, options.workers > 0 ? options.workers : 2);
  server.checkpoint();
  const std::vector<PacedRun> arrived =
      start_paced(*opened, "bench_one", *times, [](std::size_t) { return Json::object(); });
  wait_for_all(database, static_cast<std::int64_t>(arrived.size()));
  workers.stop();
  std::vector<double> waits;
  for (const PacedRun& one : arrived) waits.push_back(wait_ms(*opened->client, one));
  Json line = quantiles(waits);
  line["value"] = line["p50_ms"];
  line["unit"] = "ms from the arrival to the first step";
  line["max_ms"] = rounded(quantile(waits, 1), 1'000);
  line["arrivals"] = arrived.size();
  line["per_second"] = rounded(1e6 * static_cast<double>(arrived.size()) / static_cast<double>(times->back()), 10);
  line["pace"] = pace;
  return line;
}

}  // namespace cairn
