// One run of very many events, or of a list that grows; very many runs in one worker, and what that held when it died.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"

namespace cairn {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::int64_t in_flight = 10'000;
constexpr std::int64_t in_flight_ms_max = 60'000;
constexpr int survivors_usual = 4;
constexpr std::int64_t longer_than_measured_ms = 3'600'000;
constexpr std::int64_t appends_usual = 100'000;
constexpr int long_run_turns = 5;   // of a new run and the long one: a machine's pace changes within seconds
constexpr std::int64_t parts = 10;  // of the long run; each turn measures the steps of one part
constexpr std::chrono::milliseconds steps_pause{2};
constexpr std::chrono::minutes steps_patience{10};

void wait_for_steps(const WorkerProcesses& workers, std::int64_t steps) {
  const Clock::time_point limit = Clock::now() + steps_patience;
  while (workers.executed().steps < steps) {
    if (Clock::now() > limit)
      throw std::runtime_error("Expected the benchmark's steps to go on, but they stand still.");
    std::this_thread::sleep_for(steps_pause);
  }
}

// The work of one process on a run: the time until its first step, and its steps from then on.
struct LongRunPart {
  double until_first_ms = 0;
  Spent spent;
};

// The next steps of the database's one run, which never ends, executed by a process of their own.
LongRunPart go_on(BenchServer& server, const FreshDatabase& database, std::int64_t steps) {
  const Clock::time_point begin = Clock::now();
  WorkerProcesses worker(database, 1);
  wait_for_steps(worker, 1);
  const Meter first = read_meter(server, database.name(), &worker);
  const std::int64_t before = worker.executed().steps;
  wait_for_steps(worker, before + steps);
  const std::int64_t executed = worker.executed().steps - before;
  LongRunPart part{ms_between(begin, first.at), between(first, read_meter(server, database.name(), &worker), executed)};
  part.spent.worker_memory_mb = worker.peak_memory_mb();
  worker.stop();
  return part;
}

RunId start_endless(Opened& opened) { return start_runs(*opened.client, "bench_loop", 1, Json::object()).front(); }

void start_held_runs(Opened& opened, std::int64_t runs, std::int64_t ms) {
  for (std::int64_t started = 0; started < runs; started += 500)
    start_runs(*opened.client, "bench_hold", std::min<std::int64_t>(500, runs - started), {{"ms", ms}});
}

// Since the death of the session that held all of them, in milliseconds.
struct TakenOver {
  double first_ms = 0;  // the first hold was given up in its place
  double last_ms = 0;   // and the last
  double held_ms = 0;   // the survivors hold all of them
};

TakenOver watch_holds(Store& store, SessionId dead, std::int64_t holds) {
  const Clock::time_point begin = Clock::now();
  std::optional<double> first, last;
  for (;;) {
    const double now = ms_between(begin, Clock::now());
    if (now > 1e3 * static_cast<double>(stand_still_max.count()))
      throw std::runtime_error("Expected the holds of a dead worker to be taken over, but they stand still.");
    std::int64_t of_dead = 0, of_others = 0;
    for (const auto& [session, count] : store.sessions().held_counts())
      (session == dead ? of_dead : of_others) += count;
    if (!first && of_dead < holds) first = now;
    if (!last && of_dead == 0) last = now;
    if (last && of_others == holds) return {*first, *last, now};
    std::this_thread::sleep_for(poll_pause);
  }
}

Result<Spent> measure_beginning(const std::string& dsn, BenchServer& server, std::int64_t steps) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  start_endless(*opened);
  return go_on(server, database, steps).spent;
}

// The steps/s of a run of that graph, from its first step on, in each quarter of so many.
Result<std::vector<double>> quarters_of(const std::string& dsn, const std::string& graph, std::int64_t steps) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  WorkerProcesses worker(database, 1);
  start_runs(*opened->client, graph, 1, Json::object());
  std::vector<double> rates;
  wait_for_steps(worker, 1);
  std::int64_t before = worker.executed().steps;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const Clock::time_point begin = Clock::now();
    wait_for_steps(worker, before + steps / 4);
    const std::int64_t executed = worker.executed().steps - before;
    rates.push_back(1e3 * static_cast<double>(executed) / ms_between(begin, Clock::now()));
    before += executed;
  }
  worker.stop();
  return rates;
}

// The rate over all quarters.
double rate_of(const std::vector<double>& quarters) {
  double seconds = 0;
  for (const double rate : quarters) seconds += 1 / rate;
  return static_cast<double>(quarters.size()) / seconds;
}

}  // namespace

Result<Json> measure_long_run(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const std::int64_t part = options.events / parts;
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  const RunId run = start_endless(*opened);
  go_on(server, database, options.events);
  Spent late;
  Spent early;
  std::vector<double> taken_over;
  for (int turn = 0; turn < long_run_turns; ++turn) {
    const Result<Spent> beginning = measure_beginning(dsn, server, part);
    if (!beginning) return beginning.error();
    early = both(early, *beginning);
    const LongRunPart next = go_on(server, database, part);
    late = both(late, next.spent);
    taken_over.push_back(next.until_first_ms);
  }
  Json line = per_step(late);
  line["value"] = std::round(late.rate());
  line["unit"] = "steps/s";
  line["limit"] = std::round(early.rate());
  line["limit_is"] = "new runs, in long_run_turns with the long one";
  line["limit_costs"] = per_step(early);
  line["ratio"] = rounded(late.rate() / early.rate(), 1'000);
  line["events"] = opened->store->run(run)->head;
  line["taken_over_ms"] = std::round(quantile(taken_over, 0.5));
  line["worker_memory_mb"] = rounded(late.worker_memory_mb, 10);
  return line;
}

Result<Json> measure_appends(const std::string& dsn, BenchServer&, const BenchOptions& options) {
  const std::int64_t steps = options.runs > 0 ? options.runs : appends_usual;
  const Result<std::vector<double>> before = quarters_of(dsn, "bench_replace", steps);
  if (!before) return before.error();
  const Result<std::vector<double>> appends = quarters_of(dsn, "bench_append", steps);
  if (!appends) return appends.error();
  const Result<std::vector<double>> after = quarters_of(dsn, "bench_replace", steps);
  if (!after) return after.error();
  const double limit = (rate_of(*before) + rate_of(*after)) / 2;
  Json table = Json::array();
  for (std::size_t quarter = 0; quarter < appends->size(); ++quarter)
    table.push_back({{"quarter", quarter + 1},
                     {"appends_per_s", std::round((*appends)[quarter])},
                     {"replaced_per_s", std::round(((*before)[quarter] + (*after)[quarter]) / 2)}});
  return Json{{"value", std::round(rate_of(*appends))},
              {"unit", "steps/s"},
              {"limit", std::round(limit)},
              {"limit_is", "as many steps that replace 1 KB, before and after"},
              {"ratio", rounded(rate_of(*appends) / limit, 1'000)},
              {"last_quarter_to_first", rounded(appends->back() / appends->front(), 1'000)},
              {"appends", steps},
              {"table", std::move(table)}};
}

Result<Json> measure_in_flight(const std::string& dsn, BenchServer&, const BenchOptions& options) {
  const std::int64_t runs = options.runs > 0 ? options.runs : in_flight;
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  const WorkerProcesses idle(database, 1, {"--concurrency", std::to_string(runs)});
  const double empty = idle.peak_memory_mb();
  const std::int64_t ms = std::min<std::int64_t>(in_flight_ms_max, 2'000 + runs);
  start_held_runs(*opened, runs, ms);
  const Clock::time_point begin = Clock::now();
  wait_for_steps(idle, runs);
  if (ms_between(begin, Clock::now()) > static_cast<double>(ms))
    throw std::runtime_error("Expected all runs to be in flight at once, but the first had ended before the last.");
  const double full = idle.peak_memory_mb();
  wait_for_all(database, runs);
  return Json{{"value", rounded(full, 10)},
              {"unit", "MB"},
              {"runs", runs},
              {"idle_mb", rounded(empty, 10)},
              {"kb_per_run", rounded((full - empty) * 1'024 / static_cast<double>(runs), 10)},
              {"until_the_end_mb", rounded(idle.peak_memory_mb(), 10)}};
}

// The survivors see that its process has exited, as it was one of this machine: its time-to-live is not waited for.
Result<Json> measure_takeover(const std::string& dsn, BenchServer&, const BenchOptions& options) {
  const std::int64_t holds = options.runs > 0 ? options.runs : in_flight;
  const int survivors = options.workers > 0 ? options.workers : survivors_usual;
  const std::vector<std::string> room = {"--concurrency", std::to_string(holds)};
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  WorkerProcesses holder(database, 1, room);
  start_held_runs(*opened, holds, longer_than_measured_ms);
  wait_for_steps(holder, holds);
  const std::map<SessionId, std::int64_t> held = opened->store->sessions().held_counts();
  if (held.size() != 1 || held.begin()->second != holds)
    throw std::runtime_error("Expected one worker to hold all steps, but it does not.");
  const SessionId dead = held.begin()->first;
  const WorkerProcesses others(database, survivors, room);
  holder.kill();
  const TakenOver taken = watch_holds(*opened->store, dead, holds);
  return Json{{"value", rounded((taken.last_ms - taken.first_ms) / 1'000, 1'000)},
              {"unit", "s"},
              {"holds", holds},
              {"survivors", survivors},
              {"noticed_after_s", rounded(taken.first_ms / 1'000, 1'000)},
              {"executed_again_after_s", rounded(taken.held_ms / 1'000, 1'000)}};
}

}  // namespace cairn
