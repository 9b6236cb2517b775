// One `cairn serve` under all that clients ask of it at once: followers of runs, small reads and starts, each at a pace
// that is given. Times count from when a request was due.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/http_load.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "ops/bench/rig/serve_process.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double reads_per_second = 5'000, starts_per_second = 1'000, signals_per_second = 200;
constexpr int reading_connections = 64, starting_connections = 64;
constexpr std::chrono::seconds warm_up{3};

HttpRequest read_of(const std::string& url, const RunId& run) {
  HttpRequest request;
  request.url = url + "/runs/" + to_string(run);
  request.method = "GET";
  return request;
}

HttpRequest start_of(const std::string& url) {
  HttpRequest request;
  request.url = url + "/runs";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = R"({"graph":"bench_remote"})";
  return request;
}

// The followed runs have news, one after the other.
void signal_for(Client& client, const std::vector<RunId>& runs, std::chrono::seconds time) {
  const Clock::time_point began = Clock::now();
  const auto pause = std::chrono::duration<double>(1 / signals_per_second);
  for (std::size_t n = 0; Clock::now() < began + time; ++n) {
    const Result<Done> sent = client.command(runs[n % runs.size()], SendSignal{"go", Json(nullptr), ""});
    if (!sent) throw std::runtime_error(sent.error().message);
    std::this_thread::sleep_until(began +
                                  std::chrono::duration_cast<Clock::duration>(pause * static_cast<double>(n + 1)));
  }
}

Json with_rate(const std::vector<double>& times, double seconds) {
  if (times.empty()) throw std::runtime_error("Expected answers of the API, but there are none.");
  Json line = quantiles(times);
  line["per_second"] = std::round(static_cast<double>(times.size()) / seconds);
  return line;
}

}  // namespace

Result<Json> measure_http(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  const ServeProcess serve(database);
  const std::vector<RunId> runs = start_runs(*opened->client, "bench_signals", options.followers, Json::object());
  server.checkpoint();
  Followers followers(serve.url(), runs);
  wait_until("all followers to have an event", [&] {
    followers.check();
    return followers.connected() == options.followers;
  });
  PacedCalls reads({reads_per_second, reading_connections, 200, [&](std::int64_t number) {
                      return read_of(serve.url(), runs[static_cast<std::size_t>(number) % runs.size()]);
                    }});
  PacedCalls starts(
      {starts_per_second, starting_connections, 201, [&](std::int64_t) { return start_of(serve.url()); }});
  signal_for(*opened->client, runs, warm_up);
  (void)reads.take();
  (void)starts.take();
  (void)followers.take();
  const double cpu_before = serve.cpu_seconds();
  const Clock::time_point began = Clock::now();
  signal_for(*opened->client, runs, std::chrono::seconds(std::max(options.seconds, 1)));
  const double seconds = ms_between(began, Clock::now()) / 1'000;
  const double cpu = serve.cpu_seconds() - cpu_before;
  reads.check();
  starts.check();
  followers.check();
  const Json read = with_rate(reads.take(), seconds), started = with_rate(starts.take(), seconds);
  return Json{{"value", read["per_second"]},
              {"unit", "reads/s"},
              {"followers", followers.connected()},
              {"reads", read},
              {"starts", started},
              {"events_followed", with_rate(followers.take(), seconds)},
              {"serve_cores", rounded(cpu / seconds, 100)},
              {"serve_memory_mb", std::round(serve.memory_mb())}};
}

}  // namespace cairn
