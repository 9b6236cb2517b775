#include "ops/bench/bench.hpp"

#include <array>
#include <iostream>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig.hpp"
#include "ops/print.hpp"
#include "ops/stop_signals.hpp"
#include "storage/postgres_connection.hpp"
#include "storage/postgres_store.hpp"
#include "workers/worker.hpp"

namespace cairn {
namespace {

struct Case {
  std::string_view name;
  std::string_view title;
  Result<Json> (*measure)(const std::string& dsn, BenchServer& server, const BenchOptions& options);
};

constexpr std::array<Case, 2> cases{{
    {"steps", "Durable steps: 10-step runs, each step queued in PostgreSQL, full history and hash chain",
     measure_steps},
    {"latency", "Latency: one 10-step run at a time, a worker process that has nothing else to do", measure_latency},
}};

void print_line_of(const Case& which, const Json& line) {
  print_line(std::string(which.title));
  Table table({"MEASURE", "VALUE"});
  for (const auto& [name, value] : line.items())
    table.add({name, value.is_string() ? value.get<std::string>() : value.dump()});
  table.print();
}

}  // namespace

std::vector<std::string> bench_cases() {
  std::vector<std::string> names;
  for (const Case& one : cases) names.emplace_back(one.name);
  return names;
}

Exit bench(const Settings& settings, const BenchOptions& options) {
  const Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  try {
    BenchServer server(*dsn);
    for (const Case& one : cases) {
      if (!options.name.empty() && options.name != one.name) continue;
      Result<Json> line = one.measure(*dsn, server, options);
      if (!line) return line.error();
      (*line)["case"] = one.name;
      line->update(server.settings());
      if (settings.json)
        print_json(*line);
      else
        print_line_of(one, *line);
      std::cout.flush();
    }
    return 0;
  } catch (const PostgresError& fault) {
    return Error{Code::unavailable, fault.what()};
  }
}

Exit bench_worker(const Settings& settings, const BenchWorkerOptions& options) {
  StopSignals signals;
  Result<std::unique_ptr<Catalogue>> catalogue = bench_catalogue();
  if (!catalogue) return catalogue.error();
  Result<std::unique_ptr<Store>> store = open_store(settings.dsn);
  if (!store) return store.error();
  WorkerOptions worker_options;
  worker_options.concurrency = options.concurrency;
  Worker worker(**store, **catalogue, worker_options);
  signals.watch(&worker);
  print_json({{"ready", true}});
  std::cout.flush();
  const WorkerReport report = worker.run();
  signals.watch(nullptr);
  print_json({{"steps", report.steps}, {"commits", report.commits}, {"conflicts", report.conflicts}});
  return 0;
}

}  // namespace cairn
