// The cost of a pool of workers to the server as the pool grows: of sessions that have nothing to do, of a job that
// wakes them, and of sessions of another queue next to busy processes. The idle sessions are workers of this process,
// each with a store and connections of its own, as a process would have: it is the same to the server.
#include <cmath>
#include <memory>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/handlers.hpp"
#include "ops/bench/rig/traffic.hpp"
#include "workers/runtime/worker.hpp"

namespace cairn {
namespace {

constexpr int idle_sizes[] = {20, 60, 200};
constexpr int busy_workers = 20;
constexpr int jobs_in_turn = 100;
constexpr int connections_of_one = 2;
constexpr std::chrono::milliseconds between_openings{20};
constexpr std::chrono::seconds settling{20};  // all have looked at all
constexpr std::chrono::seconds job_patience{30};

class IdleSessions {
 public:
  IdleSessions(const FreshDatabase& database, int count, const std::vector<std::string>& queues) {
    for (int n = 0; n < count; ++n) {
      all_.push_back(std::make_unique<One>(database.dsn(), queues));
      std::this_thread::sleep_for(between_openings);
    }
    std::this_thread::sleep_for(settling);
  }
  ~IdleSessions() {
    for (const auto& one : all_) one->worker.stop();
  }
  IdleSessions(const IdleSessions&) = delete;
  IdleSessions& operator=(const IdleSessions&) = delete;

 private:
  struct One {
    One(const std::string& dsn, const std::vector<std::string>& queues)
        : store(or_throw(open_store(dsn, connections_of_one, note_ended))),
          catalogue(or_throw(bench_catalogue())),
          worker(*store, *catalogue, options_for(queues)),
          thread([this] { worker.run(); }) {}

    template <class T>
    static T or_throw(Result<T> made) {
      if (!made) throw std::runtime_error(made.error().message);
      return *std::move(made);
    }
    static WorkerOptions options_for(const std::vector<std::string>& queues) {
      WorkerOptions options;
      options.queues = queues;
      return options;
    }

    std::unique_ptr<Store> store;
    std::unique_ptr<Catalogue> catalogue;
    Worker worker;
    std::jthread thread;
  };
  std::vector<std::unique_ptr<One>> all_;
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

// Jobs one after another, each when the one before has ended: a wake-up each.
void one_by_one(Client& client) {
  for (int job = 0; job < jobs_in_turn; ++job) {
    std::this_thread::sleep_for(idle_pause);
    const std::int64_t ended = executed().ended;
    start_runs(client, "bench_one", 1, Json::object());
    const auto limit = std::chrono::steady_clock::now() + job_patience;
    while (executed().ended == ended) {
      if (std::chrono::steady_clock::now() > limit)
        throw std::runtime_error("Expected a job to be done, but it waits.");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

Json idle_costs(BenchServer& server, FreshDatabase& database, Opened& opened, int sessions, int seconds) {
  const IdleSessions idle(database, sessions, {});
  const Spent resting = cost_of(server, database, [&] { std::this_thread::sleep_for(std::chrono::seconds(seconds)); });
  Spent woken = cost_of(server, database, [&] { one_by_one(*opened.client); });
  Json line = {{"of_a_second", cost_json(resting, resting.seconds)}};
  // Without what the same time costs at rest.
  const double ms = woken.seconds * 1'000 / jobs_in_turn;
  woken.commits = std::max(0.0, woken.commits - resting.commits * woken.seconds / resting.seconds);
  if (woken.server_cpu)
    woken.server_cpu = std::max(0.0, *woken.server_cpu - *resting.server_cpu * woken.seconds / resting.seconds);
  line["of_a_job"] = cost_json(woken, jobs_in_turn);
  line["of_a_job"]["ms"] = rounded(ms, 10);
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
  for (const int sessions : idle_sizes) {
    if (sessions > most) continue;
    FreshDatabase database(dsn);
    Result<Opened> opened = open_bench(database);
    if (!opened) return opened.error();
    line["idle"]["sessions_" + std::to_string(sessions)] =
        idle_costs(server, database, *opened, sessions, options.seconds);
  }
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  const Spent before = busy_flow(server, database, *opened, options.seconds);
  Spent among;
  {
    const IdleSessions idle(database, most, {"elsewhere"});
    among = busy_flow(server, database, *opened, options.seconds);
  }
  const Spent alone = both(before, busy_flow(server, database, *opened, options.seconds));
  line["value"] = std::round(among.rate());
  line["unit"] = "steps/s";
  line["limit"] = std::round(alone.rate());
  line["limit_is"] = "20 busy processes without the idle sessions, before and after";
  line["ratio"] = rounded(among.rate() / alone.rate(), 1'000);
  return line;
}

}  // namespace cairn
