// Migrations under load: a schema of the first release with many runs in it is moved to the newest one while programs
// of that release commit steps. The measure is the longest time that one of their commits waits.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/copies.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "storage/clock.hpp"
#include "storage/migration/migrator.hpp"
#include "storage/postgres/connection.hpp"
#include "workers/ids.hpp"

namespace cairn {
namespace {

constexpr std::int64_t migrated_runs_by_default = 200'000;
constexpr std::int64_t events_of_a_run = 10;
constexpr std::int64_t open_part = 10;  // one in so many
constexpr int writers = 2;
constexpr std::chrono::seconds calm{3};

void make_first_release(Administration& database) {
  const Migration first = migrations().front();
  database.execute(std::string(first.text));
  database.query("record_migration", {std::to_string(first.number), std::string(first.name), "1"});
}

RunId first_release_run(Administration& database, bool is_open) {
  const RunId run = new_run_id();
  database.query("bench_first_release_run",
                 {to_string(run), std::to_string(events_of_a_run), is_open ? "true" : "false"});
  return run;
}

struct Written {
  std::int64_t at_us = 0;  // when it was sent; steady
  std::int64_t took_us = 0;
};

std::vector<Written> write_until(const std::string& dsn, const Copies& open, int offset,
                                 const std::atomic<bool>& is_over) {
  PgConnection connection({dsn, "release 1"});
  connection.limit_silence(600'000);
  std::vector<Written> all;
  for (std::int64_t n = offset; !is_over; n += writers) {
    const std::int64_t before_us = steady_us();
    connection.query(statement("bench_first_release_step"), PgParameters().add(open.id(n % open.count())));
    all.push_back({before_us, steady_us() - before_us});
  }
  return all;
}

// {"writes", "p50_ms", "longest_ms"} of those that were sent or answered within a time.
Json part_of(const std::vector<Written>& all, std::int64_t from_us, std::int64_t to_us) {
  std::vector<double> ms;
  for (const Written& one : all)
    if (one.at_us + one.took_us >= from_us && one.at_us <= to_us)
      ms.push_back(static_cast<double>(one.took_us) / 1'000);
  if (ms.empty()) return nullptr;
  return {{"writes", ms.size()},
          {"p50_ms", rounded(quantile(ms, 0.5), 100)},
          {"longest_ms", rounded(*std::max_element(ms.begin(), ms.end()), 10)}};
}

}  // namespace

Result<Json> measure_migrate(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const std::int64_t runs = options.runs > 0 ? options.runs : migrated_runs_by_default;
  FreshDatabase database(dsn);
  make_first_release(database.administration());
  const Copies ended(database, first_release_run(database.administration(), false), runs - runs / open_part);
  const Copies open(database, first_release_run(database.administration(), true),
                    std::max<std::int64_t>(runs / open_part, 1));
  server.checkpoint();
  hold_if(options.hold);
  std::atomic<bool> is_over{false};
  std::vector<std::future<std::vector<Written>>> load;
  for (int writer = 0; writer < writers; ++writer)
    load.push_back(std::async(std::launch::async,
                              [&, writer, to = database.dsn()] { return write_until(to, open, writer, is_over); }));
  const std::int64_t begun_us = steady_us();
  std::this_thread::sleep_for(calm);
  const std::int64_t from_us = steady_us();
  const Result<MigrateReport> report = migrate(database.dsn(), 0);
  const std::int64_t to_us = steady_us();
  std::this_thread::sleep_for(calm);
  is_over = true;
  std::vector<Written> all;
  for (auto& one : load)
    for (const Written& written : one.get()) all.push_back(written);
  if (!report) return report.error();
  const Json during = part_of(all, from_us, to_us);
  return Json{{"value", during["longest_ms"]},
              {"unit", "ms"},
              {"runs", runs},
              {"events", runs * events_of_a_run},
              {"migrations", report->to - report->from},
              {"migrate_ms", std::round(static_cast<double>(to_us - from_us) / 1'000)},
              {"before", part_of(all, begun_us, from_us)},
              {"during", during},
              {"after", part_of(all, to_us, steady_us())}};
}

}  // namespace cairn
