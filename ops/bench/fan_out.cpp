// One run alone that fans out and joins: as a map over sub-goals, and along the edges of a graph.
#include <cmath>
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

}  // namespace cairn
