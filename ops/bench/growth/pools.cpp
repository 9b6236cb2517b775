// The cost of a pool of worker processes to the server as the pool grows: of processes that have nothing to do, of a
// job that wakes them, and of idle processes of another queue next to busy ones.
#include <cmath>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/traffic.hpp"

namespace cairn {
namespace {

constexpr int idle_sizes[] = {20, 60, 200};
constexpr int busy_workers = 20;
constexpr int jobs_in_turn = 100;
constexpr std::chrono::seconds settling{20};  // all have looked at all

// Worker processes that have looked at all and found nothing to do.
class IdleWorkers {
 public:
  IdleWorkers(const FreshDatabase& database, int count, std::vector<std::string> arguments = {})
      : processes_(database, count, with_rare_reports(std::move(arguments))) {
    std::this_thread::sleep_for(settling);
  }
  const WorkerProcesses& processes() const { return processes_; }

 private:
  // Two hundred that each compare their counters 200 times a second would be a load of their own.
  static std::vector<std::string> with_rare_reports(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--report-ms", "100"});
    return arguments;
  }

  WorkerProcesses processes_;
};

// The server's, in a second or for a job.
Json cost_json(const Spent& spent, double share) {
  Json cost = {{"transactions", rounded(spent.commits / share, 10)}};
  if (spent.server_cpu) cost["server_cpu_ms"] = rounded(*spent.server_cpu * 1'000 / share, 100);
  return cost;
}

template <class Work>
Spent cost_of(BenchServer& server, const FreshDatabase& database, Work&& work) {
  const Meter before = read_meter(server, database.name(), nullptr);
  work();
  const Meter after = read_meter(server, database.name(), nullptr);
  Spent spent = between(before, after, 1);
  spent.commits = static_cast<double>(after.server.commits - before.server.commits);
  return spent;
}

// Jobs one after another, each when the one before has ended: a wake-up each. The time of each, in ms.
std::vector<double> one_by_one(Client& client, const WorkerProcesses& workers) {
  std::vector<double> times;
  for (int job = 0; job < jobs_in_turn; ++job) {
    std::this_thread::sleep_for(idle_pause);
    times.push_back(time_of_one(client, workers, "bench_one", Json::object()));
  }
  return times;
}

Json idle_costs(BenchServer& server, FreshDatabase& database, Opened& opened, int workers, int seconds) {
  const IdleWorkers idle(database, workers);
  const Spent resting = cost_of(server, database, [&] { std::this_thread::sleep_for(std::chrono::seconds(seconds)); });
  std::vector<double> times;
  Spent woken = cost_of(server, database, [&] { times = one_by_one(*opened.client, idle.processes()); });
  Json line = {{"of_a_second", cost_json(resting, resting.seconds)}};
  // Without what the same time costs at rest.
  woken.commits = std::max(0.0, woken.commits - resting.commits * woken.seconds / resting.seconds);
  if (woken.server_cpu)
    woken.server_cpu = std::max(0.0, *woken.server_cpu - *resting.server_cpu * woken.seconds / resting.seconds);
  line["of_a_job"] = cost_json(woken, jobs_in_turn);
  line["of_a_job"].update(quantiles(times));
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
  const int most = options.workers > 0 ? options.workers : idle_sizes[2];
  for (const int workers : idle_sizes) {
    if (workers > most) continue;
    FreshDatabase database(dsn);
    Result<Opened> opened = open_bench(database);
    if (!opened) return opened.error();
    line["idle"]["workers_" + std::to_string(workers)] =
        idle_costs(server, database, *opened, workers, options.seconds);
  }
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  const Spent before = busy_flow(server, database, *opened, options.seconds);
  Spent among;
  {
    const IdleWorkers idle(database, most, {"--queue", "elsewhere"});
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
