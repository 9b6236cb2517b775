// The effect of what is kept on what is done and asked every day: the same measurements on a database with very many
// ended runs and on one with a hundredth of them, in turns, because the machine's pace changes within minutes.
#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "ops/answers/run_json.hpp"
#include "ops/bench/cases.hpp"
#include "ops/bench/rig/copies.hpp"
#include "ops/bench/rig/traffic.hpp"
#include "storage/clock.hpp"

namespace cairn {
namespace {

constexpr std::int64_t runs_by_default = 1'000'000;
constexpr std::int64_t small_part = 100;
constexpr int rare_runs = 5;
constexpr std::int64_t lately_runs = 10'000;
constexpr int turns = 3;
constexpr int flow_seconds = 5;
constexpr double asked_ratio = 0.9;
constexpr std::int64_t timed_us_min = 300'000;
constexpr int readings_min = 5;
constexpr int readings_max = 2'000;

// A database of the case: the rare runs first, so that they are the oldest, then the many.
class Grown {
 public:
  Grown(const std::string& dsn, BenchServer& server, std::int64_t runs)
      : server_(server), database_(dsn), opened_(opened(database_)), copies_(made(runs)) {}

  const Status& is_whole() const { return copies_.are_all(); }
  std::int64_t count() const { return copies_.count(); }
  RunId id(std::int64_t n) const { return copies_.id(n); }
  Client& client() { return *opened_.client; }
  Store& store() { return *opened_.store; }
  TimeUs first_start() const { return first_start_; }

  // Reads what is asked for lately, as if it had been asked for before.
  void warm() {
    for (std::int64_t n = std::max<std::int64_t>(count() - lately_runs, 0); n < count(); ++n) {
      store().run(id(n));
      store().events(id(n), 0, 1);
    }
  }

  Spent flow(int workers) {
    Traffic traffic;
    traffic.workers = workers;
    traffic.extent.seconds = flow_seconds;
    return measure_flow(server_, database_, opened_, traffic).spent;
  }

  // Bytes of tables and of indexes.
  Json sizes() {
    Json sizes = Json::object();
    const AdminRows rows = database_.administration().query("bench_sizes");
    rows.expect_columns({"relname", "size"});
    for (std::size_t row = 0; row < rows.size(); ++row) sizes[rows.text(row, 0)] = rows.number(row, 1);
    return sizes;
  }

 private:
  static Opened opened(const FreshDatabase& database) {
    Result<Opened> opened = open_bench(database);
    if (!opened) throw std::runtime_error(opened.error().message);
    return *std::move(opened);
  }

  Copies made(std::int64_t runs) {
    for (const RunId& run : start_runs(*opened_.client, "bench_hold", rare_runs, {{"ms", 1}}))
      if (const Result<Done> done = opened_.client->command(run, Cancel{"rare"}); !done)
        throw std::runtime_error(done.error().message);
    Traffic traffic;
    traffic.graph = "bench_audit";
    traffic.steps_of_run = bench_audit_steps;
    traffic.workers = 1;
    traffic.extent.runs = 1;
    const RunId sample = start_and_finish(traffic);
    first_start_ = opened_.store->run(sample)->started_at;
    return Copies(database_, sample, runs, {.tagged = true, .leaves_room = true});
  }

  RunId start_and_finish(const Traffic& traffic) {
    const RunId run = start_runs(*opened_.client, traffic.graph, 1, Json::object()).front();
    WorkerProcesses workers(database_, 1);
    workers.wait_for_ended(1);
    workers.stop();
    return run;
  }

  BenchServer& server_;
  FreshDatabase database_;
  Opened opened_;
  TimeUs first_start_ = 0;
  Copies copies_;
};

// One thing that is asked. `n`: another one each time.
struct Reading {
  std::string name;
  std::function<void(Grown& grown, std::int64_t n)> take;
};

void list(Grown& grown, const RunFilter& filter, std::size_t rows_min) {
  if (grown.store().runs(filter).size() < rows_min)
    throw std::runtime_error("Expected a list of the benchmark to have " + std::to_string(rows_min) + " runs.");
}

RunFilter first_page() {
  RunFilter filter;
  filter.limit = 20;
  return filter;
}

Reading tagged(const std::string& name, const std::string& key,
               std::function<std::int64_t(const Grown&, std::int64_t)> of) {
  return {name, [key, of = std::move(of)](Grown& grown, std::int64_t n) {
            RunFilter filter = first_page();
            filter.tags[key] = std::to_string(of(grown, n));
            list(grown, filter, 20);
          }};
}

std::vector<Reading> readings() {
  const auto somewhere = [](const Grown& grown, std::int64_t n) { return n * 7'919 % grown.count(); };
  // As many of the newest as the small database has of all: the server keeps these of both in memory.
  const auto lately = [](const Grown& grown, std::int64_t n) {
    return grown.count() - 1 - n * 7'919 % std::min(grown.count(), lately_runs);
  };
  return {
      {"show_at",
       [=](Grown& grown, std::int64_t n) {
         const Result<RunState> state = state_at(grown.client(), grown.id(lately(grown, n)), Moment{5, {}});
         if (!state) throw std::runtime_error(state.error().message);
       }},
      {"show_at_of_any",
       [=](Grown& grown, std::int64_t n) {
         const Result<RunState> state = state_at(grown.client(), grown.id(somewhere(grown, n)), Moment{5, {}});
         if (!state) throw std::runtime_error(state.error().message);
       }},
      {"show",
       [=](Grown& grown, std::int64_t n) {
         if (!grown.store().run(grown.id(lately(grown, n)))) throw std::runtime_error("Expected a run.");
       }},
      {"runs_newest", [](Grown& grown, std::int64_t) { list(grown, first_page(), 20); }},
      {"runs_graph_of_most",
       [](Grown& grown, std::int64_t) {
         RunFilter filter = first_page();
         filter.graph = "bench_audit";
         list(grown, filter, 20);
       }},
      {"runs_graph_of_few",
       [](Grown& grown, std::int64_t) {
         RunFilter filter = first_page();
         filter.graph = "bench_hold";
         list(grown, filter, rare_runs);
       }},
      {"runs_between_times",
       [=](Grown& grown, std::int64_t n) {
         RunFilter filter = first_page();
         filter.since = grown.first_start() + std::max<std::int64_t>(lately(grown, n) - 1'000, 0);
         filter.until = *filter.since + 1'000;
         list(grown, filter, 20);
       }},
      {"runs_status_of_most",
       [](Grown& grown, std::int64_t) {
         RunFilter filter = first_page();
         filter.status = RunStatus::done;
         list(grown, filter, 20);
       }},
      tagged("runs_tag_of_a_thousand", "batch",
             [=](const Grown& grown, std::int64_t n) { return somewhere(grown, n) / 1'000; }),
      tagged("runs_tag_of_a_tenth", "team", [](const Grown&, std::int64_t n) { return n % 10; }),
      {"runs_status_of_few",
       [](Grown& grown, std::int64_t) {
         RunFilter filter = first_page();
         filter.status = RunStatus::aborted;
         list(grown, filter, rare_runs);
       }},
      {"count_of_all", [](Grown& grown, std::int64_t) { grown.store().all_runs().count({}, 10'000); }},
  };
}

// The median time of one, in microseconds.
double time_of(const Reading& reading, Grown& grown, std::int64_t& n) {
  std::vector<double> each;
  const std::int64_t begun_us = steady_us();
  for (int count = 0; count < readings_max; ++count) {
    const std::int64_t before_us = steady_us();
    if (count >= readings_min && before_us - begun_us > timed_us_min) break;
    reading.take(grown, n++);
    each.push_back(static_cast<double>(steady_us() - before_us));
  }
  return quantile(each, 0.5);
}

struct Pair {
  std::vector<double> small;
  std::vector<double> large;
  std::string unanswered;  // why the large one gave no answer; not asked again
};

void take_turn(const Reading& reading, Pair& pair, Grown& small, Grown& large, std::int64_t& n) {
  if (!pair.unanswered.empty()) return;
  pair.small.push_back(time_of(reading, small, n));
  try {
    pair.large.push_back(time_of(reading, large, n));
  } catch (const StoreUnavailable& late) {
    pair.unanswered = late.what();
  }
}

Json pair_json(const Pair& pair) {
  const double small = quantile(pair.small, 0.5);
  if (!pair.unanswered.empty())
    return {{"small_us", std::round(small)}, {"large_us", nullptr}, {"unanswered", pair.unanswered}, {"ratio", 0}};
  const double large = quantile(pair.large, 0.5);
  return {{"small_us", std::round(small)}, {"large_us", std::round(large)}, {"ratio", rounded(small / large, 1'000)}};
}

}  // namespace

Result<Json> measure_growth(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  const std::int64_t runs = options.runs > 0 ? options.runs : runs_by_default;
  const int workers = options.workers > 0 ? options.workers : 2;
  const std::int64_t few_runs = std::max<std::int64_t>(runs / small_part, 1'000);
  if (const Status fits = server.leaves_room_for(bytes_of_copies(runs + few_runs)); !fits) return fits.error();
  Grown small(dsn, server, few_runs);
  if (!small.is_whole()) return small.is_whole().error();
  Grown large(dsn, server, runs);
  if (!large.is_whole()) return large.is_whole().error();
  hold_if(options.hold);
  const std::vector<Reading> all = readings();
  std::vector<Pair> times(all.size());
  Spent small_flow, large_flow;
  std::int64_t n = 1;
  for (Grown* grown : {&small, &large}) grown->warm();
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t at = 0; at < all.size(); ++at) take_turn(all[at], times[at], small, large, n);
  for (int turn = 0; turn < turns; ++turn) {
    small_flow = both(small_flow, small.flow(workers));
    large_flow = both(large_flow, large.flow(workers));
  }
  Json line = per_step(large_flow);
  line["value"] = std::round(large_flow.rate());
  line["unit"] = "steps/s";
  line["limit"] = std::round(small_flow.rate());
  line["limit_is"] = "the same with a hundredth of the runs, in turns";
  line["ratio"] = rounded(large_flow.rate() / small_flow.rate(), 1'000);
  line["runs"] = runs;
  line["bytes"] = large.sizes();
  Json grows = Json::array();
  for (std::size_t at = 0; at < all.size(); ++at) {
    const Json one = pair_json(times[at]);
    if (one["ratio"] < asked_ratio) grows.push_back(all[at].name);
    line["looks"][all[at].name] = one;
  }
  line["grows"] = std::move(grows);
  return line;
}

}  // namespace cairn
