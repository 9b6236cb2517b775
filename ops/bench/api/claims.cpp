// Durable steps of workers over HTTP, through one `cairn serve`: alone, and next to idle workers that wait for
// steps of a queue that has none.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/claim_clients.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "ops/bench/rig/serve_process.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int workers = 4;
constexpr int taken_at_once = 250;
constexpr std::int64_t start_at_once = 500;
constexpr std::int64_t ahead_runs = 1'000;  // started and not ended
constexpr int claim_turns = 3;
constexpr std::chrono::milliseconds full_pause{2};
constexpr std::chrono::seconds warming{2};

struct Measured {
  double rate = 0;      // steps/s
  double serve_us = 0;  // processor time of `serve` for a step
  std::int64_t steps = 0;
};

class Stream {
 public:
  Stream(Client& client, const ClaimClients& claiming) : client_(client), claiming_(claiming) {}

  void flow(std::chrono::milliseconds time) {
    for (const Clock::time_point end = Clock::now() + time; Clock::now() < end;) {
      claiming_.check();
      if (started_ - claiming_.steps() / bench_steps > ahead_runs) {
        std::this_thread::sleep_for(full_pause);
        continue;
      }
      start_runs(client_, "bench_remote", start_at_once, Json::object());
      started_ += start_at_once;
    }
  }
  std::int64_t started() const { return started_; }

 private:
  Client& client_;
  const ClaimClients& claiming_;
  std::int64_t started_ = 0;
};

Measured measured(Stream& stream, const ClaimClients& claiming, const ServeProcess& serve, int seconds) {
  stream.flow(warming);
  const std::int64_t before = claiming.steps();
  const double cpu_before = serve.cpu_seconds();
  const Clock::time_point began = Clock::now();
  stream.flow(std::chrono::seconds(seconds));
  const double took = ms_between(began, Clock::now()) / 1'000;
  const std::int64_t steps = claiming.steps() - before;
  if (steps == 0) throw std::runtime_error("Expected workers over HTTP to execute steps, but they stand still.");
  return {static_cast<double>(steps) / took, (serve.cpu_seconds() - cpu_before) * 1e6 / static_cast<double>(steps),
          steps};
}

ClaimClientsOptions clients_of(const ServeProcess& serve, const std::string& queue, int connections, int max) {
  return {.url = serve.url(), .queue = queue, .handler = "bench.remote", .connections = connections, .max = max};
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

}  // namespace

Result<Json> measure_claims(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  const ServeProcess serve(database);
  const ClaimClients claiming(clients_of(serve, "remote", workers, taken_at_once));
  Stream stream(*opened->client, claiming);
  server.checkpoint();
  std::vector<double> alone, beside, costs;
  std::int64_t steps = 0;
  const int seconds = std::max(options.seconds / claim_turns, 1);
  for (int turn = 0; turn < claim_turns; ++turn) {
    const Measured one = measured(stream, claiming, serve, seconds);
    alone.push_back(one.rate);
    costs.push_back(one.serve_us);
    steps += one.steps;
    const ClaimClients idle(clients_of(serve, "idle", options.idle, 1));
    const auto sessions =
        static_cast<std::size_t>(workers + options.idle * (turn + 1));  // opened by their first requests
    wait_until("idle workers to open their sessions",
               [&] { return opened->store->sessions().all().size() >= sessions; });
    beside.push_back(measured(stream, claiming, serve, seconds).rate);
    idle.check();
  }
  return Json{{"value", std::round(median(alone))},
              {"unit", "steps/s"},
              {"workers", workers},
              {"taken_at_once", taken_at_once},
              {"steps", steps},
              {"serve_us_of_a_step", rounded(median(costs), 10)},
              {"idle_workers", options.idle},
              {"beside_idle", std::round(median(beside))},
              {"beside_ratio", rounded(median(beside) / median(alone), 1'000)}};
}

}  // namespace cairn
