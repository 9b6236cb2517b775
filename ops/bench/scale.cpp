// The effect of a full database on a step: cases that compare the same stream of runs with empty tables.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <utility>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/copies.hpp"
#include "ops/bench/rig/traffic.hpp"

namespace cairn {
namespace {

constexpr int turns = 3;

Traffic flow_of(const BenchOptions& options, int seconds) {
  Traffic traffic;
  traffic.workers = options.workers > 0 ? options.workers : 2;
  traffic.extent.seconds = seconds;
  return traffic;
}

Json part_of(const TrafficReport& report) {
  Json part = per_step(report.spent);
  part.update(report.tables);
  part["value"] = std::round(report.spent.rate());
  part["seconds"] = rounded(report.spent.seconds, 1'000);
  return part;
}

// One run of the stream, done or still waiting for its first step.
RunId sample_run(BenchServer& server, FreshDatabase& database, Opened& opened, bool done) {
  if (!done) return start_runs(*opened.client, "bench_steps", 1, Json::object()).front();
  return one_run(server, database, opened).id;
}

Result<TrafficReport> measure_empty(const std::string& dsn, BenchServer& server, const BenchOptions& options,
                                    int seconds) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  return measure_flow(server, database, *opened, flow_of(options, seconds));
}

// The stream on empty tables, before and after each measurement that is held against it.
class Empty {
 public:
  // Throws what measure_empty refuses.
  Empty(const std::string& dsn, BenchServer& server, const BenchOptions& options)
      : dsn_(dsn), server_(server), options_(options), last_(measured()) {}

  // REQUIRES: called once after each.
  Spent around() {
    const Spent before = std::exchange(last_, measured());
    return both(before, last_);
  }

 private:
  Spent measured() const {
    const Result<TrafficReport> report = measure_empty(dsn_, server_, options_, options_.seconds);
    if (!report) throw std::runtime_error(report.error().message);
    return report->spent;
  }

  const std::string& dsn_;
  BenchServer& server_;
  const BenchOptions& options_;
  Spent last_;
};

double ratio_of(double rate, const Spent& empty) { return rounded(rate / empty.rate(), 1'000); }

Json line_of(const TrafficReport& report, const Spent& empty) {
  Json line = part_of(report);
  line["unit"] = "steps/s";
  line["limit"] = std::round(empty.rate());
  line["limit_is"] = "the same on empty tables, before and after each time";
  line["limit_costs"] = per_step(empty);
  line["ratio"] = ratio_of(report.spent.rate(), empty);
  return line;
}

struct Full {
  std::int64_t runs = 0;
  bool done = false;
};

// Traffic on tables with many other runs, alternating with empty ones: the machine's pace changes within seconds.
Result<Json> measure_full(const std::string& dsn, BenchServer& server, const BenchOptions& options, const Full& full,
                          Empty& empty) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  Copies(database, sample_run(server, database, *opened, full.done), full.runs);
  hold_if(options.hold);
  TrafficReport report;  // `spent` is of all turns, the rest of the last one
  Spent around;
  for (int turn = 0; turn < turns; ++turn) {
    const Spent before = report.spent;
    report = measure_flow(server, database, *opened, flow_of(options, options.seconds));
    report.spent = both(before, report.spent);
    around = both(around, empty.around());
  }
  return line_of(report, around);
}

}  // namespace

Result<Json> measure_waiting(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Empty empty(dsn, server, options);
  Json line;
  Json by_number = Json::object();
  for (const std::int64_t waiting : options.waiting) {
    Result<Json> one = measure_full(dsn, server, options, {waiting, false}, empty);
    if (!one) return one.error();
    line = *std::move(one);
    Json& part = by_number[std::to_string(waiting)] = line;
    for (const char* of_the_line : {"unit", "limit", "limit_is", "limit_costs"}) part.erase(of_the_line);
  }
  line["by_waiting_jobs"] = std::move(by_number);
  return line;
}

Result<Json> measure_finished(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Empty empty(dsn, server, options);
  Result<Json> line = measure_full(dsn, server, options, {options.finished, true}, empty);
  if (line) (*line)["finished_runs"] = options.finished;
  return line;
}

Result<Json> measure_sustained(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Empty brief(dsn, server, options);
  const Result<TrafficReport> report = measure_empty(dsn, server, options, options.sustained_seconds);
  if (!report) return report.error();
  Json line = line_of(*report, brief.around());
  line["limit_is"] = "the same for " + std::to_string(options.seconds) + " s, before and after";
  if (!report->rates.empty()) {
    line["slowest_10_s"] = std::round(*std::min_element(report->rates.begin(), report->rates.end()));
    line["last_10_s"] = std::round(report->rates.back());
  }
  return line;
}

// Nothing that dies after the snapshot's beginning can be cleared away before its end.
Result<Json> measure_old_snapshot(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Empty empty(dsn, server, options);
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  hold_if(options.hold);
  Administration reader(database.dsn(), "somebody else");  // workers end what of ours stands still in a transaction
  reader.begin();
  reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  const std::int64_t runs = reader.query("bench_runs").number(0, 0);
  const TrafficReport report = measure_flow(server, database, *opened, flow_of(options, options.snapshot_seconds));
  if (reader.query("bench_runs").number(0, 0) != runs)
    throw std::runtime_error("Expected the snapshot to have been held, but it shows what came after it.");
  reader.roll_back();
  const Spent around = empty.around();
  Json line = line_of(report, around);
  if (!report.rates.empty()) {
    line["last_10_s"] = std::round(report.rates.back());
    line["ratio"] = ratio_of(report.rates.back(), around);
  }
  return line;
}

}  // namespace cairn
