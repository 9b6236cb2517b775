// A steady load for long, with schedules and with a worker that is killed again and again: what the lasting processes
// and the database hold is sampled, and must be flat once it is warm.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/process_sample.hpp"
#include "ops/bench/rig/rig.hpp"
#include "ops/bench/rig/serve_process.hpp"
#include "storage/schedules/schedule_table.hpp"
#include "workers/schedules/schedule_desk.hpp"

namespace cairn {
namespace {

using SoakClock = std::chrono::steady_clock;

constexpr int runs_a_second = 20;
constexpr int schedules_of_soak = 20;
constexpr std::int64_t schedule_every_ms = 2'000;
constexpr std::chrono::seconds kill_every{15};
constexpr int samples_wanted = 40;
constexpr int quarters = 4;
constexpr int rows_shown = 12;

// Something that is sampled. `slack` is what it may differ by without having grown: a page, a vacuum that is due.
struct Measure {
  const char* name;
  double slack;
};
constexpr Measure measures[] = {{"worker_mb", 5},         {"worker_descriptors", 4}, {"serve_mb", 5},
                                {"serve_descriptors", 4}, {"connections", 4},        {"jobs", 100},
                                {"dead_rows", 5'000},     {"working_mb", 2},         {"history_bytes_of_event", 20}};

// All that runs for the whole time: a server that fires the schedules, a worker, and one that is killed and replaced.
class Soak {
 public:
  Soak(FreshDatabase& database, Opened& opened)
      : database_(database), opened_(opened), serve_(database), lasting_(database, 1) {
    replace();
    add_schedules();
  }

  // Starts the runs of a second.
  void load() {
    start_runs(*opened_.client, "bench_steps", runs_a_second, Json::object());
    started_ += runs_a_second;
  }

  void kill_and_replace() {
    killed_->kill();
    ++kills_;
    replace();
  }

  Json sample() {
    const AdminRows rows = database_.administration().query("bench_soak");
    const FreshDatabase::Runs runs = database_.runs();
    Json row = {{"events", runs.events}, {"connections", rows.number(0, 0)}, {"jobs", rows.number(0, 1)}};
    row["dead_rows"] = rows.number(0, 2);
    row["working_mb"] = rounded(static_cast<double>(rows.number(0, 3)) / 1'048'576, 10);
    row["history_bytes_of_event"] = std::round(static_cast<double>(rows.number(0, 4)) /
                                               static_cast<double>(std::max<std::int64_t>(runs.events, 1)));
    add(row, "worker", lasting_.pids().front());
    add(row, "serve", serve_.pid());
    return row;
  }

  // No schedule fires any more; all that was started ends.
  void end() {
    for (const std::string& name : schedules_)
      if (const Status removed = desk_.remove(name, "bench"); !removed)
        throw std::runtime_error(removed.error().message);
    wait_for_all(database_, database_.runs().all);
    if (database_.runs().all < started_) throw std::runtime_error("Expected each run that was started to be there.");
  }

  int kills() const { return kills_; }

 private:
  void replace() { killed_ = std::make_unique<WorkerProcesses>(database_, 1); }

  void add_schedules() {
    const Result<ScheduleDefinition> definition = parse_schedule({{"graph", "bench_steps"},
                                                                  {"every_ms", schedule_every_ms},
                                                                  {"overlap", "allow_all"},
                                                                  {"input", Json::object()}});
    if (!definition) throw std::runtime_error(definition.error().message);
    for (int n = 0; n < schedules_of_soak; ++n) {
      schedules_.push_back("soak" + std::to_string(n));
      if (const Status added = desk_.add(schedules_.back(), *definition, "bench"); !added)
        throw std::runtime_error(added.error().message);
    }
  }

  static void add(Json& row, const std::string& whose, pid_t pid) {
    const std::optional<ProcessSample> sample = sample_process(pid);
    if (!sample) throw std::runtime_error("Expected the " + whose + " process to last, but it ended.");
    row[whose + "_mb"] = rounded(sample->memory_mb, 10);
    row[whose + "_descriptors"] = sample->descriptors;
  }

  FreshDatabase& database_;
  Opened& opened_;
  ServeProcess serve_;
  WorkerProcesses lasting_;
  std::unique_ptr<WorkerProcesses> killed_;
  ScheduleTable table_{opened_.dsn, opened_.store->identity()};
  ZoneFiles zones_;
  ScheduleDesk desk_{table_.calls(), *opened_.store, *opened_.client, zones_};
  std::vector<std::string> schedules_;
  std::int64_t started_ = 0;
  int kills_ = 0;
};

// The mean of a measure in a quarter of the samples: 0 to 3.
double mean_in(const std::vector<Json>& samples, const char* name, std::size_t quarter) {
  const std::size_t from = samples.size() * quarter / quarters, to = samples.size() * (quarter + 1) / quarters;
  double sum = 0;
  for (std::size_t at = from; at < to; ++at) sum += samples[at].at(name).get<double>();
  return sum / static_cast<double>(to - from);
}

// The last quarter compared with the second: the first is the time in which all gets warm.
Json growth_of(const std::vector<Json>& samples) {
  Json growth = Json::object();
  for (const Measure& measure : measures) {
    const double before = mean_in(samples, measure.name, 1), after = mean_in(samples, measure.name, quarters - 1);
    const bool is_flat = std::abs(after - before) <= measure.slack;
    growth[measure.name] = is_flat ? 1.0 : rounded(after / std::max(before, measure.slack), 1'000);
  }
  return growth;
}

Json table_of(const std::vector<Json>& samples) {
  Json rows = Json::array();
  const std::size_t step = std::max<std::size_t>(samples.size() / rows_shown, 1);
  for (std::size_t at = 0; at < samples.size(); at += step) rows.push_back(samples[at]);
  return rows;
}

}  // namespace

Result<Json> measure_soak(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  server.checkpoint();
  Soak soak(database, *opened);
  const auto pause = std::chrono::milliseconds(std::max(options.soak_seconds * 1'000 / samples_wanted, 250));
  const auto begun = SoakClock::now();
  const auto until = begun + std::chrono::seconds(options.soak_seconds);
  std::vector<Json> samples;
  auto sample_at = begun + pause, kill_at = begun + kill_every;
  for (auto second = begun; second < until; second += std::chrono::seconds(1)) {
    soak.load();
    if (SoakClock::now() >= kill_at) {
      soak.kill_and_replace();
      kill_at += kill_every;
    }
    for (; sample_at <= second + std::chrono::seconds(1); sample_at += pause) {
      std::this_thread::sleep_until(sample_at);
      samples.push_back(soak.sample());
      samples.back()["at_minute"] = rounded(ms_between(begun, SoakClock::now()) / 60'000, 10);
    }
    std::this_thread::sleep_until(second + std::chrono::seconds(1));
  }
  soak.end();
  const Json growth = growth_of(samples);
  double most = 0;
  for (const auto& [name, value] : growth.items()) most = std::max(most, value.get<double>());
  return Json{{"value", most},
              {"unit", "the most grown measure, last quarter against second"},
              {"seconds", options.soak_seconds},
              {"runs", database.runs().done},
              {"kills", soak.kills()},
              {"growth", growth},
              {"table", table_of(samples)}};
}

}  // namespace cairn
