// Recorded arrivals at many times their pace: how long each run waits for its first step.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

constexpr std::int64_t pace = 50;
constexpr std::size_t at_once = 500;
constexpr std::chrono::microseconds look{200};

// The time of each arrival after the first. Lines "2023-11-16 18:17:03.9799600,..." after a head.
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
  for (TimeUs& time : times) time -= first;
  return times;
}

struct Arrived {
  RunId run;
  TimeUs due = 0;  // by the database's clock
};

std::vector<Arrived> let_arrive(Opened& opened, const std::vector<TimeUs>& times) {
  const TimeUs begin = opened.store->database_time() + 10'000;
  std::vector<Arrived> arrived;
  while (arrived.size() < times.size()) {
    const TimeUs now = opened.store->database_time();
    std::size_t due = arrived.size();
    while (due < times.size() && due - arrived.size() < at_once && begin + times[due] / pace <= now) ++due;
    const std::size_t first = arrived.size();
    const auto count = static_cast<std::int64_t>(due - first);
    if (count == 0) {
      std::this_thread::sleep_for(look);
      continue;
    }
    for (const RunId& run : start_runs(*opened.client, "bench_one", count, Json::object()))
      arrived.push_back({run, begin + times[arrived.size()] / pace});
  }
  return arrived;
}

double wait_ms(Client& client, const Arrived& arrived) {
  const Result<std::vector<Event>> events = client.events(arrived.run, 1, 1);
  const auto* const step = events && !events->empty() ? std::get_if<StepSucceeded>(&events->front().body) : nullptr;
  if (step == nullptr) throw std::runtime_error("Expected the benchmark's run to begin with a step, but it does not.");
  return static_cast<double>(step->started_at - arrived.due) / 1'000;
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
  const std::vector<Arrived> arrived = let_arrive(*opened, *times);
  wait_for_all(database, static_cast<std::int64_t>(arrived.size()));
  workers.stop();
  std::vector<double> waits;
  for (const Arrived& one : arrived) waits.push_back(wait_ms(*opened->client, one));
  Json line = quantiles(waits);
  line["value"] = line["p50_ms"];
  line["unit"] = "ms from the arrival to the first step";
  line["max_ms"] = rounded(quantile(waits, 1), 1'000);
  line["arrivals"] = arrived.size();
  line["per_second"] =
      rounded(1e6 * static_cast<double>(arrived.size() * pace) / static_cast<double>(times->back()), 10);
  line["pace"] = pace;
  return line;
}

}  // namespace cairn
