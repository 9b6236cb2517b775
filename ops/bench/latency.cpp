// How long one run takes from its start to its end, and how long its first step waits for an idle worker of another
// process, beside the same commits one after another without an engine.
#include <algorithm>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/limit.hpp"
#include "ops/bench/rig.hpp"
#include "storage/postgres_store.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int runs_default = 300;
constexpr int warming_runs = 20;
constexpr std::chrono::microseconds glance{200};  // how late an end may be seen
constexpr std::chrono::milliseconds rest{5};      // the machine is idle when the next one starts
constexpr std::chrono::seconds patience{60};

double ms_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

double quantile(std::vector<double>& values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

void wait_for(Store& store, const RunId& run) {
  const Clock::time_point limit = Clock::now() + patience;
  for (;;) {
    const std::optional<RunRow> row = store.run(run);
    if (row && row->status == RunStatus::done) return;
    if (Clock::now() > limit) throw std::runtime_error("Expected the benchmark's run to end, but it stands still.");
    std::this_thread::sleep_for(glance);
  }
}

// From the commit of its start to the moment its first step was begun, by the clocks of two processes that follow the
// database's.
double start_wait_ms(Client& client, const RunId& run) {
  const Result<std::vector<Event>> events = client.events(run, 0, 2);
  const auto* const first = events && events->size() == 2 ? std::get_if<StepSucceeded>(&(*events)[1].body) : nullptr;
  if (first == nullptr) throw std::runtime_error("Expected the benchmark's run to begin with a step, but it does not.");
  return static_cast<double>(first->started_at - (*events)[0].at_us) / 1'000;
}

struct Times {
  std::vector<double> whole;
  std::vector<double> until_started;
};

Times measure_runs(Opened& opened, int count) {
  Times times;
  for (int n = -warming_runs; n < count; ++n) {
    std::this_thread::sleep_for(rest);
    const Clock::time_point begin = Clock::now();
    const RunId run = start_runs(*opened.client, 1).front();
    wait_for(*opened.store, run);
    if (n < 0) continue;
    times.whole.push_back(ms_between(begin, Clock::now()));
    times.until_started.push_back(start_wait_ms(*opened.client, run));
  }
  return times;
}

}  // namespace

Result<Json> measure_latency(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const int count = options.runs > 0 ? options.runs : runs_default;
  const FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database.dsn());
  if (!opened) return opened.error();
  std::vector<ChildProcess> workers = start_workers(database.dsn(), 1);
  server.checkpoint();
  Times times = measure_runs(*opened, count);
  stop_workers(workers);
  RunFilter one;
  one.limit = 1;
  const CannedRun sample = canned_run(*opened->store, opened->store->runs(one).front());
  const FreshDatabase second(dsn);
  if (const Result<MigrateReport> report = migrate(second.dsn(), 1); !report) return report.error();
  std::vector<double> limit = measure_limit_alone(second.dsn(), sample, count);
  const double p50 = quantile(times.whole, 0.5);
  const double limit_p50 = quantile(limit, 0.5);
  return Json{{"value", rounded(p50, 1'000)},
              {"unit", "ms"},
              {"limit", rounded(limit_p50, 1'000)},
              {"ratio", rounded(limit_p50 / p50, 1'000)},
              {"runs", count},
              {"p50_ms", rounded(p50, 1'000)},
              {"p99_ms", rounded(quantile(times.whole, 0.99), 1'000)},
              {"start_p50_ms", rounded(quantile(times.until_started, 0.5), 1'000)},
              {"start_p99_ms", rounded(quantile(times.until_started, 0.99), 1'000)}};
}

}  // namespace cairn
