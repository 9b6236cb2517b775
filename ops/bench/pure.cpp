// Pure steps: as many in one commit as a worker fuses, compared with the same steps one by one.
#include <cmath>
#include <set>
#include <stdexcept>

#include "engine/run_json.hpp"
#include "ops/bench/cases.hpp"
#include "ops/bench/rig/traffic.hpp"

namespace cairn {
namespace {

RunId newest_run(Store& store) {
  RunFilter one;
  one.limit = 1;
  return store.runs(one).at(0).id;
}

// The number of commits in which the run's events were written, its start included.
std::size_t commits_of(Store& store, const RunId& run) {
  std::set<std::int64_t> commits;
  for (const EventRow& row : store.events(run, 0, 1'000)) commits.insert(row.commit);
  return commits.size();
}

// The events of the run, without times and processes.
Json history_of(Opened& opened, const RunId& run) {
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
  std::size_t commits_of_a_run = 0;
};

Result<Part> measure_part(const std::string& dsn, BenchServer& server, const Traffic& traffic) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  Part part{measure_traffic(server, database, *opened, traffic), {}, 0};
  const RunId run = newest_run(*opened->store);
  part.history = history_of(*opened, run);
  part.commits_of_a_run = commits_of(*opened->store, run);
  return part;
}

}  // namespace

Result<Json> measure_pure(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Traffic traffic;
  traffic.workers = options.workers > 0 ? options.workers : 2;
  traffic.extent = {options.runs, options.seconds};
  const Result<Part> one_by_one = measure_part(dsn, server, traffic);
  if (!one_by_one) return one_by_one.error();
  Traffic as_pure = traffic;
  as_pure.graph = "bench_pure";
  const Result<Part> fused = measure_part(dsn, server, as_pure);
  if (!fused) return fused.error();
  const Result<Part> once_more = measure_part(dsn, server, traffic);
  if (!once_more) return once_more.error();
  const Spent limit = both(one_by_one->report.spent, once_more->report.spent);
  if (fused->history != one_by_one->history)
    throw std::runtime_error("Expected the fused steps to leave the same history, but they left another.");
  Json line = per_step(fused->report.spent);
  line["value"] = std::round(fused->report.spent.rate());
  line["unit"] = "steps/s";
  line["limit"] = std::round(limit.rate());
  line["ratio"] = rounded(fused->report.spent.rate() / limit.rate(), 1'000);
  line["limit_is"] = "case steps, before and after";
  line["same_history"] = true;
  line["commits_of_a_run"] = {{"fused", fused->commits_of_a_run}, {"one_by_one", one_by_one->commits_of_a_run}};
  line["workers"] = traffic.workers;
  line["runs"] = fused->report.runs;
  line["limit_costs"] = per_step(limit);
  return line;
}

}  // namespace cairn
