// One run alone that fans out and joins: as a map over sub-goals, and along the edges of a graph; and one wide run on
// several processes that have as many slots together as one alone.
#include <cmath>
#include <map>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/handlers.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"

namespace cairn {
namespace {

constexpr int narrow = 100;
constexpr int wide = 10'000;
constexpr int narrow_runs = 200;
constexpr int wide_runs = 10;

struct Fan {
  std::string graph;
  Json input;
  int width = 0;
  int runs = 0;
};

// Arguments of a worker process with slots for all branches.
std::vector<double> times_of(Opened& opened, const WorkerProcesses& workers, const Fan& fan) {
  std::vector<double> times;
  for (int n = -1 - fan.runs / 10; n < fan.runs; ++n) {
    std::this_thread::sleep_for(idle_pause);
    const double time = time_of_one(*opened.client, workers, fan.graph, fan.input);
    if (n >= 0) times.push_back(time);
  }
  return times;
}

Json part_of(const Fan& fan, const std::vector<double>& times) {
  Json part = quantiles(times);
  part["branches"] = fan.width;
  part["runs"] = fan.runs;
  part["us_per_branch"] = rounded(part["p50_ms"].get<double>() * 1'000 / fan.width, 10);
  return part;
}

constexpr int slots = 64;  // of all processes together
constexpr int processes_of[] = {1, 2, 4, 8};
constexpr int compared = 4;
constexpr int turns_usual = 2;  // of all numbers of processes: a machine's pace changes from one minute to the next

// A plan of sub-goals that each wait 20 to 80 ms.
Json wide_plan(std::int64_t width) {
  Json goals = Json::array();
  for (std::int64_t n = 0; n < width; ++n)
    goals.push_back({{"id", "g" + std::to_string(n)}, {"tool", "sleep"}, {"inputs", {{"ms", 20 + n * 37 % 61}}}});
  return {{"goal", "wide"}, {"sub_goals", std::move(goals)}};
}

struct WideRun {
  Spent spent;
  double seconds = 0;  // from the start of the run to its end
};

WideRun run_wide(BenchServer& server, FreshDatabase& database, Opened& opened, int processes, std::int64_t width) {
  const WorkerProcesses workers(database, processes, {"--concurrency", std::to_string(slots / processes)});
  const Json plan = wide_plan(width);
  const Meter before = read_meter(server, database.name(), &workers);
  WideRun run;
  run.seconds = time_of_one(*opened.client, workers, "plan_runner", plan) / 1'000;
  run.spent = between(before, read_meter(server, database.name(), &workers), width);
  return run;
}

Json part_of(const WideRun& run, const WideRun& alone, int turns) {
  Json part = per_step(run.spent);
  part["seconds"] = rounded(run.seconds / turns, 1'000);
  part["client_cpu_seconds"] = rounded(run.spent.client_cpu / turns, 1'000);
  part["time_to_one"] = rounded(run.seconds / alone.seconds, 1'000);
  part["client_cpu_to_one"] = rounded(run.spent.client_cpu / alone.spent.client_cpu, 1'000);
  if (run.spent.server_cpu && alone.spent.server_cpu)
    part["all_cpu_to_one"] = rounded(
        (run.spent.client_cpu + *run.spent.server_cpu) / (alone.spent.client_cpu + *alone.spent.server_cpu), 1'000);
  return part;
}

}  // namespace

Result<Json> measure_fan_out(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  if (const Result<GraphRef> added = opened->client->add_graph(edges_graph(narrow)); !added) return added.error();
  WorkerProcesses workers(database, 1, {"--concurrency", std::to_string(2 * wide)});
  server.checkpoint();
  const auto measure = [&](Fan fan) {
    if (options.runs > 0) fan.runs = options.runs;
    return part_of(fan, times_of(*opened, workers, fan));
  };
  const Json edges = measure({"bench_edges", Json::object(), narrow, narrow_runs});
  const Json few = measure({"bench_map", {{"width", narrow}}, narrow, narrow_runs});
  const Json many = measure({"bench_map", {{"width", wide}}, wide, wide_runs});
  Json line = {{"value", few["p50_ms"]}, {"unit", "ms"}, {"p50_ms", few["p50_ms"]}, {"p99_ms", few["p99_ms"]}};
  line["map_100"] = few;
  line["map_10000"] = many;
  line["edges_100"] = edges;
  line["cost_per_branch_10000_to_100"] =
      rounded(many["us_per_branch"].get<double>() / few["us_per_branch"].get<double>(), 100);
  line["worker_memory_mb"] = rounded(workers.peak_memory_mb(), 10);
  workers.stop();
  return line;
}

Result<Json> measure_wide(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const int turns = options.runs > 0 ? options.runs : turns_usual;
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  Json line = {{"unit", "s"}, {"limit_is", "the same run on one process with as many slots"}, {"slots", slots}};
  for (const std::int64_t width : options.width) {
    std::map<int, WideRun> by_processes;
    for (int turn = 0; turn < turns; ++turn) {
      for (const int processes : processes_of) {
        const WideRun run = run_wide(server, database, *opened, processes, width);
        WideRun& sum = by_processes[processes];
        sum.spent = both(sum.spent, run.spent);
        sum.seconds += run.seconds;
      }
    }
    const WideRun& alone = by_processes.at(1);
    Json& parts = line["width_" + std::to_string(width)];
    for (const auto& [processes, run] : by_processes)
      parts["processes_" + std::to_string(processes)] = part_of(run, alone, turns);
    if (line.contains("value")) continue;  // the first width is the line's
    line["value"] = rounded(by_processes.at(compared).seconds / turns, 1'000);
    line["limit"] = rounded(alone.seconds / turns, 1'000);
    line["ratio"] = rounded(by_processes.at(compared).seconds / alone.seconds, 1'000);
  }
  return line;
}

}  // namespace cairn
