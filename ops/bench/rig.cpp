#include "ops/bench/rig.hpp"

#include <boost/asio/awaitable.hpp>
#include <cmath>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>

#include "storage/postgres_store.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t outcome_bytes = 300;  // of the patch: {"data":"..."}
constexpr std::chrono::seconds stand_still_max{60};

Json bench_graph() {
  Json nodes = {{"done", {{"end", "done"}}}};
  for (int i = 1; i <= bench_steps; ++i) {
    const std::string next = i == bench_steps ? "done" : "s" + std::to_string(i + 1);
    nodes["s" + std::to_string(i)] = {{"do", "bench.step"}, {"on", {{"ok", next}}}};
  }
  return {{"name", "bench_steps"}, {"start", "s1"}, {"limits", {{"steps", 2 * bench_steps}}}, {"nodes", nodes}};
}

boost::asio::awaitable<StepResult> bench_step(StepInput, Ports&) {
  static const std::string text(outcome_bytes - std::string_view(R"({"data":""})").size(), 'x');
  Outcome outcome;
  outcome.label = "ok";
  outcome.patch = {{"data", text}};
  co_return outcome;
}

double own_cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& at) {
    return static_cast<double>(at.tv_sec) + 1e-6 * static_cast<double>(at.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

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

// --- workers and runs ------------------------------------------------------------------------------------------------

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

std::vector<RunId> start_runs(Client& client, std::int64_t count) {
  std::vector<std::pair<StartRun, std::string>> commands(static_cast<std::size_t>(count));
  for (auto& [command, key] : commands) command.graph = "bench_steps";
  std::vector<RunId> runs;
  for (const Result<Started>& started : client.start_many(std::move(commands))) {
    if (!started) throw std::runtime_error(started.error().message);
    runs.push_back(started->run);
  }
  return runs;
}

std::int64_t jobs_left(Store& store) {
  std::int64_t jobs = 0;
  for (const QueueRow& row : store.queues()) jobs += row.ready + row.later + row.held;
  return jobs;
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

// --- what is spent ---------------------------------------------------------------------------------------------------

Meter read_meter(BenchServer& server, const std::string& database, const std::vector<ChildProcess>& workers) {
  Meter meter{Clock::now(), own_cpu_seconds(), server.read(database)};
  for (const ChildProcess& worker : workers) meter.client_cpu += cpu_seconds(worker.pid()).value_or(0);
  return meter;
}

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

double rounded(double value, double parts) { return std::round(value * parts) / parts; }

}  // namespace cairn
