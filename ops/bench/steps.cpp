// Durable steps a second, each step a job in PostgreSQL that any worker could take, beside what the database does for
// the same statements without an engine.
#include <cmath>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/limit.hpp"
#include "ops/bench/rig.hpp"
#include "storage/postgres_store.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int start_at_once = 500;
constexpr std::int64_t ahead_runs = 2'000;  // started and not ended, when time is the measure

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
        options.runs > 0 ? std::min<std::int64_t>(start_at_once, options.runs - started) : start_at_once;
    start_runs(client, count);
    started += count;
  }
  return started;
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

struct Measured {
  Spent spent;
  CannedRun sample;
};

Measured measure_steps(BenchServer& server, const FreshDatabase& database, Opened& opened,
                       const BenchOptions& options) {
  std::vector<ChildProcess> workers = start_workers(database.dsn(), options.workers);
  server.checkpoint();
  const Meter before = read_meter(server, database.name(), workers);
  const std::int64_t runs = start_all(*opened.client, *opened.store, options);
  wait_for_all(*opened.store);
  Measured measured{between(before, read_meter(server, database.name(), workers), runs * bench_steps), {}};
  stop_workers(workers);
  check_all_done(*opened.store, runs);
  const std::int64_t commits = server.read(database.name()).commits - before.server.commits;
  measured.spent.commits = static_cast<double>(commits);
  RunFilter one;
  one.limit = 1;
  measured.sample = canned_run(*opened.store, opened.store->runs(one).front());
  return measured;
}

Result<Spent> limit_of(BenchServer& server, const FreshDatabase& database, const CannedRun& sample,
                       const Extent& extent) {
  if (const Result<MigrateReport> report = migrate(database.dsn(), 1); !report) return report.error();
  server.checkpoint();
  const Meter before = read_meter(server, database.name(), {});
  const LimitReport report = measure_limit(database.dsn(), sample, extent);
  Spent spent = between(before, read_meter(server, database.name(), {}), report.steps);
  spent.seconds = report.seconds;
  return spent;
}

Json line_of(const BenchOptions& options, const Spent& steps, const Spent& limit) {
  Json line = {{"value", std::round(steps.rate())},
               {"unit", "steps/s"},
               {"limit", std::round(limit.rate())},
               {"ratio", rounded(steps.rate() / limit.rate(), 1'000)},
               {"workers", options.workers},
               {"runs", steps.steps / bench_steps},
               {"steps", steps.steps},
               {"seconds", rounded(steps.seconds, 1'000)},
               {"client_cpu_us_per_step", rounded(steps.each(steps.client_cpu) * 1e6, 10)},
               {"wal_bytes_per_step", std::round(steps.each(steps.wal_bytes))},
               {"commits_per_step", rounded(steps.each(steps.commits), 10'000)},
               {"limit_client_cpu_us_per_step", rounded(limit.each(limit.client_cpu) * 1e6, 10)}};
  if (steps.server_cpu) line["server_cpu_us_per_step"] = rounded(steps.each(*steps.server_cpu) * 1e6, 10);
  if (limit.server_cpu) line["limit_server_cpu_us_per_step"] = rounded(limit.each(*limit.server_cpu) * 1e6, 10);
  return line;
}

}  // namespace

Result<Json> measure_steps(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database.dsn());
  if (!opened) return opened.error();
  const Measured measured = measure_steps(server, database, *opened, options);
  const FreshDatabase second(dsn);
  const Result<Spent> limit = limit_of(server, second, measured.sample, {options.runs, options.seconds});
  if (!limit) return limit.error();
  return line_of(options, measured.spent, *limit);
}

}  // namespace cairn
