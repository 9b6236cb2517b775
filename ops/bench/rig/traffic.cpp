#include "ops/bench/rig/traffic.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t start_at_once = 500;
constexpr std::int64_t ahead_runs = 2'000;  // started and not ended, when time is the measure
constexpr std::chrono::milliseconds full_pause{2};
constexpr std::chrono::seconds rate_window{10};
constexpr std::chrono::seconds warming{5};

// Starts runs, as many as the extent says or as fast as the workers take them.
class Stream {
 public:
  Stream(Client& client, const WorkerProcesses& workers, const Traffic& traffic)
      : client_(client), workers_(workers), traffic_(traffic) {}

  // REQUIRES: a number of runs, or a time.
  void flow(const Extent& extent) {
    const Clock::time_point end = Clock::now() + std::chrono::seconds(extent.seconds);
    Clock::time_point window = Clock::now();
    std::int64_t window_steps = steps();
    while (extent.runs > 0 ? started_ < extent.runs : Clock::now() < end) {
      feed(extent.runs > 0 ? extent.runs - started_ : start_at_once, extent.runs == 0);
      const double seconds = ms_between(window, Clock::now()) / 1'000;
      if (seconds < std::chrono::duration<double>(rate_window).count()) continue;
      rates_.push_back(static_cast<double>(steps() - window_steps) / seconds);
      window = Clock::now();
      window_steps = steps();
    }
  }

  // Until the handlers of all runs were executed.
  void finish() const {
    std::int64_t before = -1;
    for (Clock::time_point moved = Clock::now(); steps() < started_ * traffic_.steps_of_run;
         std::this_thread::sleep_for(full_pause)) {
      if (steps() != before) moved = Clock::now();
      before = steps();
      if (Clock::now() - moved > stand_still_max)
        throw std::runtime_error("Expected the benchmark's workers to go on, but they stand still.");
    }
  }

  std::int64_t steps() const { return workers_.executed().steps; }
  std::int64_t started() const { return started_; }
  const std::vector<double>& rates() const { return rates_; }

 private:
  void feed(std::int64_t most, bool only_ahead) {
    if (only_ahead && started_ - steps() / traffic_.steps_of_run > ahead_runs) {
      std::this_thread::sleep_for(full_pause);
      return;
    }
    const std::int64_t count = std::min(most, start_at_once);
    start_runs(client_, traffic_.graph, count, traffic_.input);
    started_ += count;
  }

  Client& client_;
  const WorkerProcesses& workers_;
  const Traffic& traffic_;
  std::int64_t started_ = 0;
  std::vector<double> rates_;
};

}  // namespace

RunRow one_run(BenchServer& server, FreshDatabase& database, Opened& opened) {
  Traffic traffic;
  traffic.workers = 1;
  traffic.extent.runs = 1;
  measure_traffic(server, database, opened, traffic);
  return opened.store->runs({}).front();
}

TrafficReport measure_traffic(BenchServer& server, FreshDatabase& database, Opened& opened, const Traffic& traffic) {
  WorkerProcesses workers(database, traffic.workers, traffic.worker_arguments);
  server.checkpoint();
  Stream stream(*opened.client, workers, traffic);
  const Meter before = read_meter(server, database.name(), &workers);
  stream.flow(traffic.extent);
  stream.finish();
  wait_for_all(database, stream.started());
  const Meter after = read_meter(server, database.name(), &workers);
  TrafficReport report{
      between(before, after, stream.started() * traffic.steps_of_run), stream.started(), stream.rates(), {}};
  report.spent.worker_memory_mb = workers.peak_memory_mb();
  workers.stop();
  report.spent.commits = static_cast<double>(server.read(database.name()).commits - before.server.commits);
  report.tables = database.tables();
  return report;
}

TrafficReport measure_flow(BenchServer& server, FreshDatabase& database, Opened& opened, const Traffic& traffic) {
  WorkerProcesses workers(database, traffic.workers, traffic.worker_arguments);
  server.checkpoint();
  Stream stream(*opened.client, workers, traffic);
  stream.flow({0, static_cast<int>(warming.count())});
  const std::int64_t begun = stream.steps();
  const Meter before = read_meter(server, database.name(), &workers);
  stream.flow({0, traffic.extent.seconds});
  const std::int64_t steps = stream.steps() - begun;
  TrafficReport report{
      between(before, read_meter(server, database.name(), &workers), steps), stream.started(), stream.rates(), {}};
  report.spent.worker_memory_mb = workers.peak_memory_mb();
  workers.stop();
  report.tables = database.tables();
  return report;
}

}  // namespace cairn
