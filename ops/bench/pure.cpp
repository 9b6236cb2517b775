// Pure steps: as many in one commit as a worker fuses, beside the same steps one by one.
#include <cmath>
#include <stdexcept>

#include "engine/codec.hpp"
#include "ops/bench/cases.hpp"
#include "ops/bench/traffic.hpp"

namespace cairn {
namespace {

// What happened in the run, without when, and in which process.
Json history_of(Opened& opened, const std::string& graph) {
  RunFilter one;
  one.graph = graph;
  one.limit = 1;
  const RunId run = opened.store->runs(one).at(0).id;
  const Result<std::vector<Event>> events = opened.client->events(run, 0, 1'000);
  if (!events) throw std::runtime_error(events.error().message);
  Json history = Json::array();
  for (const Event& event : *events) {
    Json line = event_json(run, event);
    for (const char* moving : {"run", "at", "worker", "started_at", "actor", "graph", "version"}) line.erase(moving);
    history.push_back(std::move(line));
  }
  return history;
}

struct Part {
  TrafficReport report;
  Json history;
};

Result<Part> measure_part(const std::string& dsn, BenchServer& server, const Traffic& traffic) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database.dsn());
  if (!opened) return opened.error();
  Part part{measure_traffic(server, database, *opened, traffic), {}};
  part.history = history_of(*opened, traffic.graph);
  return part;
}

}  // namespace

Result<Json> measure_pure(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Traffic traffic;
  traffic.workers = options.workers > 0 ? options.workers : 2;
  traffic.extent = {options.runs, options.seconds};
  const Result<Part> one_by_one = measure_part(dsn, server, traffic);
  if (!one_by_one) return one_by_one.error();
  traffic.graph = "bench_pure";
  const Result<Part> fused = measure_part(dsn, server, traffic);
  if (!fused) return fused.error();
  if (fused->history != one_by_one->history)
    throw std::runtime_error("Expected the fused steps to leave the same history, but they left another.");
  Json line = per_step(fused->report.spent);
  line["value"] = std::round(fused->report.spent.rate());
  line["unit"] = "steps/s";
  line["limit"] = std::round(one_by_one->report.spent.rate());
  line["ratio"] = rounded(fused->report.spent.rate() / one_by_one->report.spent.rate(), 1'000);
  line["limit_is"] = "case steps, in the same run";
  line["same_history"] = true;
  line["workers"] = traffic.workers;
  line["runs"] = fused->report.runs;
  line["limit_costs"] = per_step(one_by_one->report.spent);
  return line;
}

}  // namespace cairn
