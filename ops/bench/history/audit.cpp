// The cost of checking everything that is kept: verify, replay, export and `show --at` as users call them,
// over one very long run and over very many short ones that workers executed, compared with the server's own COPY of
// the events.
#include <cmath>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/program_use.hpp"
#include "ops/bench/rig/traffic.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t many_runs = 100'000;
constexpr int moments = 5;  // of each part of the run that `show --at` reads
constexpr std::chrono::minutes patience{10};

// --- the databases --------------------------------------------------------------------------------------------------

// One run of bench_loop with at least this many events; it has not ended, and no worker executes it any more.
RunRow make_long_run(FreshDatabase& database, Opened& opened, std::int64_t events) {
  const RunId run = start_runs(*opened.client, "bench_loop", 1, Json::object()).front();
  WorkerProcesses workers(database, 1);
  for (const Clock::time_point limit = Clock::now() + patience; opened.store->run(run)->head < events;) {
    if (Clock::now() > limit) throw std::runtime_error("Expected the long run to go on, but it is slow.");
    std::this_thread::sleep_for(poll_pause);
  }
  workers.stop();
  return *opened.store->run(run);
}

void make_many_runs(BenchServer& server, FreshDatabase& database, Opened& opened, int runs) {
  Traffic traffic;
  traffic.graph = "bench_audit";
  traffic.steps_of_run = bench_audit_steps;
  traffic.extent.runs = runs;
  measure_traffic(server, database, opened, traffic);
}

// --- the measurement ------------------------------------------------------------------------------------------------

class AuditTimes {
 public:
  AuditTimes(BenchServer& server, FreshDatabase& database) : server_(server), database_(database) {
    for (const char* table : {"run", "event", "job", "snapshot"})
      database.administration().execute(std::string("VACUUM (ANALYZE) cairn.") + table);
    copy();  // warms the server's cache
    copied_ = copy();
    events_ = copied_.steps;
  }

  // {"events", "runs", "copy", "verify", "replay", "export"}
  Json all() {
    const double copied = copied_.rate();
    Json line = {{"events", events_}, {"runs", database_.runs().all}, {"copy", part_of(copied_, copied)}};
    for (const char* command : {"verify", "replay", "export"})
      line[command] = part_of(time_of({command, "--all", "--json"}), copied);
    return line;
  }

 private:
  Spent copy() {
    std::int64_t rows = 0;
    const Meter before = read_meter(server_, database_.name(), nullptr);
    database_.administration().copy_out("cairn.event", [&rows](const std::string&) { ++rows; });
    return between(before, read_meter(server_, database_.name(), nullptr), rows);
  }

  Spent time_of(std::vector<std::string> command) {
    command.insert(command.end(), {"--dsn", database_.dsn()});
    const Meter before = read_meter(server_, database_.name(), nullptr);
    const ProgramUse use = use_program(command, database_.settings());
    Spent spent = between(before, read_meter(server_, database_.name(), nullptr), events_);
    spent.seconds = use.seconds;
    spent.client_cpu = use.cpu_seconds;
    spent.worker_memory_mb = use.peak_memory_mb;
    if (const Json report = parse_stored(use.last_line); report.value("events", std::int64_t{0}) != events_)
      throw std::runtime_error("Expected `cairn " + command.front() + "` to look at " + std::to_string(events_) +
                               " events, but it says: " + use.last_line.substr(0, 1'000));
    return spent;
  }

  static Json part_of(const Spent& spent, double copied) {
    Json part = {{"events_per_second", std::round(spent.rate())},
                 {"events_per_second_of_client_cpu", std::round(1 / spent.each(spent.client_cpu))},
                 {"of_copy", rounded(spent.rate() / copied, 1'000)}};
    if (spent.server_cpu)
      part["events_per_second_a_core"] = std::round(1 / spent.each(spent.client_cpu + *spent.server_cpu));
    if (spent.worker_memory_mb > 0) part["memory_mb"] = rounded(spent.worker_memory_mb, 10);
    return part;
  }

  BenchServer& server_;
  FreshDatabase& database_;
  Spent copied_;
  std::int64_t events_ = 0;
};

// The median time of `show --at`, in ms: at the beginning of a part of the run and a little later, so that no snapshot
// is met by chance.
Json show_at(FreshDatabase& database, const RunRow& run, int times) {
  const auto show = [&](std::int64_t seq) {
    return use_program({"show", to_string(run.id), "--at", std::to_string(seq), "--json", "--dsn", database.dsn()},
                       database.settings());
  };
  Json line = Json::object();
  double memory = 0;
  for (const auto& [name, percent] : {std::pair{"early", 5}, std::pair{"middle", 50}, std::pair{"late", 95}}) {
    std::vector<double> each;
    for (int n = 0; n < times; ++n) {
      const ProgramUse use = show(std::min(run.head * percent / 100 + 1 + n * 399, run.head));
      each.push_back(use.seconds * 1'000);
      memory = std::max(memory, use.peak_memory_mb);
    }
    line[std::string(name) + "_ms"] = rounded(quantile(each, 0.5), 10);
  }
  line["memory_mb"] = rounded(memory, 10);
  return line;
}

Result<Json> measure_long(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  const RunRow run = make_long_run(database, *opened, options.events);
  hold_if(options.hold);
  Json line = AuditTimes(server, database).all();
  line["show_at"] = show_at(database, run, moments);
  database.administration().execute("TRUNCATE cairn.snapshot");
  line["show_at_without_snapshots"] = show_at(database, run, 1);
  return line;
}

Result<Json> measure_many(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  make_many_runs(server, database, *opened, options.runs > 0 ? options.runs : static_cast<int>(many_runs));
  hold_if(options.hold);
  return AuditTimes(server, database).all();
}

}  // namespace

Result<Json> measure_audit(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Result<Json> many = measure_many(dsn, server, options);
  if (!many) return many;
  Result<Json> one = measure_long(dsn, server, options);
  if (!one) return one;
  const Json& replay = (*many)["replay"];
  const Json& copy = (*many)["copy"];
  return Json{{"value", replay.value("events_per_second_a_core", replay["events_per_second_of_client_cpu"])},
              {"unit", "events/s a core"},
              {"limit", copy["events_per_second"]},
              {"limit_is", "COPY cairn.event TO STDOUT, held against replay of many runs, both with all cores"},
              {"ratio", replay["of_copy"]},
              {"many_runs", *many},
              {"one_run", *one}};
}

}  // namespace cairn
