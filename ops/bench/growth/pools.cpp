// The cost of a pool of workers to the server as the pool grows: of sessions that have nothing to do, of a job that
// wakes them, and of sessions of another queue next to busy ones.
#include <cmath>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/traffic.hpp"

namespace cairn {
namespace {

constexpr int idle_sizes[] = {20, 60, 200};
constexpr int busy_workers = 20;
constexpr int jobs_in_turn = 100;
constexpr std::chrono::seconds settling{20};  // all have looked at all twice

// The server's, in a second or for a job.
Json cost_json(const Spent& spent, double share) {
  Json cost = {{"transactions", rounded(spent.commits / share, 10)}};
  if (spent.server_cpu) cost["server_cpu_ms"] = rounded(*spent.server_cpu * 1'000 / share, 100);
  return cost;
}

class Costs {
 public:
  Costs(BenchServer& server, FreshDatabase& database) : server_(server), database_(database) {}

  template <class Work>
  Spent of(Work&& work) {
    const Meter before = read_meter(server_, database_.name(), nullptr);
    work();
    const Meter after = read_meter(server_, database_.name(), nullptr);
    Spent spent = between(before, after, 1);
    spent.commits = static_cast<double>(after.server.commits - before.server.commits);
    return spent;
  }

 private:
  BenchServer& server_;
  FreshDatabase& database_;
};

// Jobs one after another, each when the one before has ended: a wake-up each.
void one_by_one(Client& client, const WorkerProcesses& workers) {
  for (int job = 0; job < jobs_in_turn; ++job) {
    std::this_thread::sleep_for(idle_pause);
    time_of_one(client, workers, "bench_one", Json::object());
  }
}

Json idle_costs(BenchServer& server, FreshDatabase& database, Opened& opened, int sessions, int seconds) {
  const WorkerProcesses idle(database, sessions);
  std::this_thread::sleep_for(settling);
  Costs costs(server, database);
  const Spent resting = costs.of([&] { std::this_thread::sleep_for(std::chrono::seconds(seconds)); });
  const Spent woken = costs.of([&] { one_by_one(*opened.client, idle); });
  Json line = {{"sessions", sessions}, {"of_a_second", cost_json(resting, resting.seconds)}};
  // Without what the same time costs at rest.
  Spent of_jobs = woken;
  of_jobs.commits = std::max(0.0, of_jobs.commits - resting.commits * woken.seconds / resting.seconds);
  if (of_jobs.server_cpu)
    of_jobs.server_cpu = std::max(0.0, *of_jobs.server_cpu - *resting.server_cpu * woken.seconds / resting.seconds);
  line["of_a_job"] = cost_json(of_jobs, jobs_in_turn);
  line["of_a_job"]["ms"] = rounded(woken.seconds * 1'000 / jobs_in_turn, 10);
  return line;
}

Spent busy_flow(BenchServer& server, FreshDatabase& database, Opened& opened, int seconds) {
  Traffic traffic;
  traffic.workers = busy_workers;
  traffic.extent.seconds = seconds;
  return measure_flow(server, database, opened, traffic).spent;
}

}  // namespace

Result<Json> measure_pools(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Json line = Json::object();
  for (const int sessions : idle_sizes) {
    if (options.workers > 0 && sessions > options.workers) continue;
    FreshDatabase database(dsn);
    Result<Opened> opened = open_bench(database);
    if (!opened) return opened.error();
    line["idle"]["of_" + std::to_string(sessions)] = idle_costs(server, database, *opened, sessions, options.seconds);
  }
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  const Spent before = busy_flow(server, database, *opened, options.seconds);
  Spent among;
  {
    const WorkerProcesses idle(database, options.workers > 0 ? options.workers : idle_sizes[2],
                               {"--queue", "elsewhere"});
    std::this_thread::sleep_for(settling);
    among = busy_flow(server, database, *opened, options.seconds);
  }
  const Spent alone = both(before, busy_flow(server, database, *opened, options.seconds));
  line["value"] = std::round(among.rate());
  line["unit"] = "steps/s";
  line["limit"] = std::round(alone.rate());
  line["limit_is"] = "20 busy processes without the idle ones, before and after";
  line["ratio"] = rounded(among.rate() / alone.rate(), 1'000);
  return line;
}

}  // namespace cairn
