#include "ops/bench.hpp"

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cmath>
#include <iostream>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>

#include "ops/bench_limit.hpp"
#include "ops/bench_server.hpp"
#include "ops/child_process.hpp"
#include "ops/database.hpp"
#include "ops/print.hpp"
#include "ops/stop_signals.hpp"
#include "storage/postgres_connection.hpp"
#include "storage/postgres_store.hpp"
#include "workers/worker.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int steps_a_run = 10;
constexpr std::size_t outcome_bytes = 300;  // of the patch: {"data":"..."}
constexpr int start_runs = 500;
constexpr std::int64_t ahead_runs = 2'000;           // started and not ended, when time is the measure
constexpr std::chrono::milliseconds look_pause{50};  // a look at the queue reads all of it
constexpr std::chrono::seconds stand_still_max{60};

// --- the case's graph and handler ------------------------------------------------------------------------------------

Json bench_graph() {
  Json nodes = {{"done", {{"end", "done"}}}};
  for (int i = 1; i <= steps_a_run; ++i) {
    const std::string next = i == steps_a_run ? "done" : "s" + std::to_string(i + 1);
    nodes["s" + std::to_string(i)] = {{"do", "bench.step"}, {"on", {{"ok", next}}}};
  }
  return {{"name", "bench_steps"}, {"start", "s1"}, {"limits", {{"steps", 2 * steps_a_run}}}, {"nodes", nodes}};
}

boost::asio::awaitable<StepResult> bench_step(StepInput, Ports&) {
  static const std::string text(outcome_bytes - std::string_view(R"({"data":""})").size(), 'x');
  Outcome outcome;
  outcome.label = "ok";
  outcome.patch = {{"data", text}};
  co_return outcome;
}

Result<std::unique_ptr<Catalogue>> bench_catalogue() {
  Result<std::unique_ptr<Catalogue>> catalogue = make_catalogue({});
  if (!catalogue) return catalogue;
  Handler handler;
  handler.name = "bench.step";
  handler.labels = {"ok"};
  handler.run = EffectHandler(bench_step);
  (*catalogue)->handlers.add(std::move(handler));
  return catalogue;
}

// --- what is spent ---------------------------------------------------------------------------------------------------

double own_cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& at) {
    return static_cast<double>(at.tv_sec) + 1e-6 * static_cast<double>(at.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// A fresh database on the server.
struct Bench {
  BenchServer& server;
  const FreshDatabase& database;
};

struct Meter {
  Clock::time_point at;
  double client_cpu = 0;
  ServerMeter server;
};

Meter read_meter(Bench& bench, const std::vector<ChildProcess>& workers) {
  Meter meter{Clock::now(), own_cpu_seconds(), bench.server.read(bench.database.name())};
  for (const ChildProcess& worker : workers) meter.client_cpu += cpu_seconds(worker.pid()).value_or(0);
  return meter;
}

struct Spent {
  std::int64_t steps = 0;
  double seconds = 0;
  double client_cpu = 0;
  std::optional<double> server_cpu;
  double wal_bytes = 0;
  double commits = 0;

  double rate() const { return static_cast<double>(steps) / seconds; }
  double each(double total) const { return total / static_cast<double>(steps); }
};

Spent between(const Meter& before, const Meter& after, std::int64_t steps) {
  Spent spent;
  spent.steps = steps;
  spent.seconds = std::chrono::duration<double>(after.at - before.at).count();
  spent.client_cpu = after.client_cpu - before.client_cpu;
  if (before.server.cpu_seconds && after.server.cpu_seconds)
    spent.server_cpu = *after.server.cpu_seconds - *before.server.cpu_seconds;
  spent.wal_bytes = static_cast<double>(after.server.wal_bytes - before.server.wal_bytes);
  return spent;
}

// --- the engine's part -----------------------------------------------------------------------------------------------

std::int64_t jobs_left(Store& store) {
  std::int64_t jobs = 0;
  for (const QueueRow& row : store.queues()) jobs += row.ready + row.later + row.held;
  return jobs;
}

void start_runs_of(Client& client, std::int64_t count) {
  std::vector<std::pair<StartRun, std::string>> commands(static_cast<std::size_t>(count));
  for (auto& [command, key] : commands) command.graph = "bench_steps";
  for (const Result<Started>& started : client.start_many(std::move(commands)))
    if (!started) throw std::runtime_error(started.error().message);
}

// Starts runs as fast as the workers take them, or all of them at once when their number is given.
std::int64_t start_all(Client& client, Store& store, const BenchOptions& options) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(options.seconds);
  std::int64_t started = 0;
  while (options.runs > 0 ? started < options.runs : Clock::now() < end) {
    if (options.runs == 0 && jobs_left(store) > ahead_runs) {
      std::this_thread::sleep_for(look_pause);
      continue;
    }
    const std::int64_t count =
        options.runs > 0 ? std::min<std::int64_t>(start_runs, options.runs - started) : start_runs;
    start_runs_of(client, count);
    started += count;
  }
  return started;
}

void wait_for_all(Store& store) {
  RunFilter running;
  running.status = RunStatus::running;
  running.limit = 1;
  std::int64_t left = -1;
  for (Clock::time_point moved = Clock::now(); !store.runs(running).empty(); std::this_thread::sleep_for(look_pause)) {
    const std::int64_t now_left = jobs_left(store);
    if (now_left != left) moved = Clock::now();
    left = now_left;
    if (Clock::now() - moved > stand_still_max)
      throw std::runtime_error("Expected the benchmark's runs to end, but they stand still.");
  }
}

void check_all_done(Store& store, std::int64_t started) {
  RunFilter done;
  done.status = RunStatus::done;
  done.limit = static_cast<std::int32_t>(started + 1);
  const std::size_t found = store.runs(done).size();
  if (found != static_cast<std::size_t>(started))
    throw std::runtime_error("Expected " + std::to_string(started) + " runs to be done, but " + std::to_string(found) +
                             " are.");
}

std::vector<ChildProcess> start_workers(const std::string& dsn, int count) {
  std::vector<ChildProcess> workers;
  for (int i = 0; i < count; ++i)
    workers.emplace_back(std::vector<std::string>{"bench-worker", "--json", "--dsn", dsn}, true);
  for (ChildProcess& worker : workers)
    if (!worker.read_line()) throw std::runtime_error("Expected a worker process to begin, but it ended.");
  return workers;
}

void stop_workers(std::vector<ChildProcess>& workers) {
  for (ChildProcess& worker : workers) worker.terminate();
  for (ChildProcess& worker : workers)
    if (worker.wait() != 0) throw std::runtime_error("Expected a worker process to drain, but it broke.");
}

struct Measured {
  Spent spent;
  CannedRun sample;
};

Measured measure_steps(Bench bench, Opened& opened, const BenchOptions& options) {
  std::vector<ChildProcess> workers = start_workers(bench.database.dsn(), options.workers);
  bench.server.checkpoint();
  const Meter before = read_meter(bench, workers);
  const std::int64_t runs = start_all(*opened.client, *opened.store, options);
  wait_for_all(*opened.store);
  Measured measured{between(before, read_meter(bench, workers), runs * steps_a_run), {}};
  stop_workers(workers);
  check_all_done(*opened.store, runs);
  const std::int64_t commits = bench.server.read(bench.database.name()).commits - before.server.commits;
  measured.spent.commits = static_cast<double>(commits);
  RunFilter one;
  one.limit = 1;
  measured.sample = canned_run(*opened.store, opened.store->runs(one).front());
  return measured;
}

Result<Opened> open_bench(const std::string& dsn) {
  if (const Result<MigrateReport> report = migrate(dsn, 1); !report) return report.error();
  Result<std::unique_ptr<Catalogue>> catalogue = bench_catalogue();
  if (!catalogue) return catalogue.error();
  Result<std::unique_ptr<Store>> store = open_store(dsn);
  if (!store) return store.error();
  Opened opened{dsn, std::move(*store), std::move(*catalogue), nullptr};
  opened.client = std::make_unique<Client>(*opened.store, *opened.catalogue, "bench");
  if (const Result<GraphRef> added = opened.client->add_graph(bench_graph()); !added) return added.error();
  return opened;
}

Result<Spent> limit_of(Bench bench, const CannedRun& sample, const Extent& extent) {
  if (const Result<MigrateReport> report = migrate(bench.database.dsn(), 1); !report) return report.error();
  bench.server.checkpoint();
  const Meter before = read_meter(bench, {});
  const LimitReport report = measure_limit(bench.database.dsn(), sample, extent);
  Spent spent = between(before, read_meter(bench, {}), report.steps);
  spent.seconds = report.seconds;
  return spent;
}

// --- the line --------------------------------------------------------------------------------------------------------

double rounded(double value, double parts) { return std::round(value * parts) / parts; }

Json bench_line(const BenchOptions& options, const Spent& steps, const Spent& limit, const Json& settings) {
  Json line = {{"case", options.name},
               {"value", std::round(steps.rate())},
               {"unit", "steps/s"},
               {"limit", std::round(limit.rate())},
               {"ratio", rounded(steps.rate() / limit.rate(), 1'000)},
               {"workers", options.workers},
               {"runs", steps.steps / steps_a_run},
               {"steps", steps.steps},
               {"seconds", rounded(steps.seconds, 1'000)},
               {"client_cpu_us_per_step", rounded(steps.each(steps.client_cpu) * 1e6, 10)},
               {"wal_bytes_per_step", std::round(steps.each(steps.wal_bytes))},
               {"commits_per_step", rounded(steps.each(steps.commits), 10'000)},
               {"limit_client_cpu_us_per_step", rounded(limit.each(limit.client_cpu) * 1e6, 10)}};
  if (steps.server_cpu) line["server_cpu_us_per_step"] = rounded(steps.each(*steps.server_cpu) * 1e6, 10);
  if (limit.server_cpu) line["limit_server_cpu_us_per_step"] = rounded(limit.each(*limit.server_cpu) * 1e6, 10);
  line.update(settings);
  return line;
}

void print_bench(const Json& line) {
  print_line("Durable steps: " + std::to_string(steps_a_run) +
             "-step runs, each step queued in PostgreSQL, full history and hash chain");
  Table table({"MEASURE", "VALUE"});
  for (const auto& [name, value] : line.items())
    table.add({name, value.is_string() ? value.get<std::string>() : value.dump()});
  table.print();
}

Exit measure(const Settings& settings, const BenchOptions& options, const std::string& dsn) {
  BenchServer server(dsn);
  const FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database.dsn());
  if (!opened) return opened.error();
  const Measured measured = measure_steps({server, database}, *opened, options);
  const FreshDatabase second(dsn);
  const Result<Spent> limit = limit_of({server, second}, measured.sample, {options.runs, options.seconds});
  if (!limit) return limit.error();
  const Json line = bench_line(options, measured.spent, *limit, server.settings());
  if (settings.json)
    print_json(line);
  else
    print_bench(line);
  return 0;
}

}  // namespace

Exit bench(const Settings& settings, const BenchOptions& options) {
  const Result<std::string> dsn = reach_database(choose_database(settings));
  if (!dsn) return dsn.error();
  try {
    return measure(settings, options, *dsn);
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
