// What a database that is full does to a step: cases that hold the same stream of runs against empty tables.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "ops/bench/cases.hpp"
#include "ops/bench/copies.hpp"
#include "ops/bench/traffic.hpp"

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

struct Full {
  std::int64_t runs = 0;
  bool done = false;
};

// A database that holds so many runs beside the stream.
class Tables {
 public:
  // Throws std::runtime_error.
  Tables(const std::string& dsn, BenchServer& server, const Full& full) : server_(server), database_(dsn) {
    Result<Opened> opened = open_bench(database_.dsn());
    if (!opened) throw std::runtime_error(opened.error().message);
    opened_.emplace(std::move(*opened));
    if (full.runs > 0) Copies(database_, sample_run(server_, database_, *opened_, full.done), full.runs);
  }

  TrafficReport flow(const BenchOptions& options, int seconds) {
    return measure_flow(server_, database_, *opened_, flow_of(options, seconds));
  }
  std::string dsn() const { return database_.dsn(); }

 private:
  BenchServer& server_;
  FreshDatabase database_;
  std::optional<Opened> opened_;
};

// The stream on empty tables, before and after each measurement that is held against it.
class Empty {
 public:
  Empty(const std::string& dsn, BenchServer& server, const BenchOptions& options)
      : dsn_(dsn), server_(server), options_(options), last_(measured()) {}

  // REQUIRES: called once after each.
  Spent around() {
    const Spent before = std::exchange(last_, measured());
    return both(before, last_);
  }

 private:
  Spent measured() const { return Tables(dsn_, server_, {}).flow(options_, options_.seconds).spent; }

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

struct InTurns {
  TrafficReport full;
  Spent empty;
};

// The machine's pace changes within seconds, so the full tables and the empty ones take turns.
InTurns measure_in_turns(Tables& full, Empty& empty, const BenchOptions& options) {
  InTurns sum{full.flow(options, options.seconds), empty.around()};
  for (int turn = 1; turn < turns; ++turn) {
    TrafficReport next = full.flow(options, options.seconds);
    next.spent = both(sum.full.spent, next.spent);
    sum = {std::move(next), both(sum.empty, empty.around())};
  }
  return sum;
}

}  // namespace

Result<Json> measure_waiting(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Empty empty(dsn, server, options);
  Json line;
  Json by_number = Json::object();
  for (const std::int64_t waiting : options.waiting) {
    Tables full(dsn, server, {waiting, false});
    hold(options);
    const InTurns measured = measure_in_turns(full, empty, options);
    line = line_of(measured.full, measured.empty);
    Json part = part_of(measured.full);
    part["ratio"] = line["ratio"];
    by_number[std::to_string(waiting)] = std::move(part);
  }
  line["by_waiting_jobs"] = std::move(by_number);
  return line;
}

Result<Json> measure_finished(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Empty empty(dsn, server, options);
  Tables full(dsn, server, {options.finished, true});
  hold(options);
  const InTurns measured = measure_in_turns(full, empty, options);
  Json line = line_of(measured.full, measured.empty);
  line["finished_runs"] = options.finished;
  return line;
}

Result<Json> measure_sustained(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Empty brief(dsn, server, options);
  const TrafficReport report = Tables(dsn, server, {}).flow(options, options.sustained_seconds);
  Json line = line_of(report, brief.around());
  line["limit_is"] = "the same for " + std::to_string(options.seconds) + " s, before and after";
  if (!report.rates.empty()) {
    line["slowest_10_s"] = std::round(*std::min_element(report.rates.begin(), report.rates.end()));
    line["last_10_s"] = std::round(report.rates.back());
  }
  return line;
}

// Nothing that dies after the snapshot's beginning can be cleared away before its end.
Result<Json> measure_old_snapshot(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Empty empty(dsn, server, options);
  Tables tables(dsn, server, {});
  hold(options);
  Administration reader(tables.dsn(), "somebody else");  // workers end what of ours stands still in a transaction
  reader.begin();
  reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  const std::int64_t runs = reader.query("bench_runs").number(0, 0);
  const TrafficReport report = tables.flow(options, options.snapshot_seconds);
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
