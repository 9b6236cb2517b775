// Limits of a queue while three of its four worker processes are killed one after another: the most that was started in
// any window, and held at once, as the database saw it, compared with what is allowed.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/meter.hpp"
#include "ops/bench/rig/rig.hpp"
#include "storage/limit_book.hpp"
#include "storage/postgres/schema.hpp"

namespace cairn {
namespace {

constexpr int workers_of_exactness = 4;
constexpr int killed_of_exactness = 3;
constexpr std::int64_t customers = 4;
constexpr std::int64_t exact_runs_by_default = 400;
constexpr std::int64_t exact_step_ms = 10;
constexpr StartRate exact_rate{60, 500'000, 10};
constexpr StartRate exact_key_rate{20, 500'000, 5};
constexpr std::int32_t exact_concurrency = 6;
constexpr std::int32_t exact_key_concurrency = 2;
constexpr const char* exact_queue = "default";

// Runs of two steps, until all are done. A worker dies whenever another eighth of them is done.
void carry_out_and_kill(FreshDatabase& database, Opened& opened, std::int64_t runs) {
  std::vector<Json> inputs;
  for (std::int64_t n = 0; n < runs; ++n)
    inputs.push_back({{"customer", "c" + std::to_string(n % customers)}, {"ms", exact_step_ms}});
  start_runs(*opened.client, "bench_holds", inputs);
  std::vector<std::unique_ptr<WorkerProcesses>> workers;
  for (int n = 0; n < workers_of_exactness; ++n)
    workers.push_back(std::make_unique<WorkerProcesses>(database, 1, std::vector<std::string>{"--concurrency", "4"}));
  for (int n = 0; n < killed_of_exactness; ++n) {
    const std::int64_t done = std::max<std::int64_t>((n + 1) * runs / 8, 1);
    wait_until(std::to_string(done) + " runs to be done", [&] { return database.runs().done >= done; });
    workers[static_cast<std::size_t>(n)]->kill();
  }
  wait_for_all(database, runs);
}

Json exact_row(const std::string& limit, std::int64_t checked, std::int64_t most, std::int64_t allowed) {
  return {{"limit", limit}, {"looked_at", checked}, {"most", most}, {"allowed", allowed}};
}

std::string rate_text(const StartRate& rate) {
  return std::to_string(rate.n) + " in " + std::to_string(rate.per_us / 1'000) + " ms, burst " +
         std::to_string(rate.burst);
}

// The notes of the database under these limits, as rows of the table.
Json rows_of_rate(Administration& database) {
  const AdminRows found =
      database.query("bench_rate_starts", {std::to_string(exact_rate.per_us), std::to_string(interval_us(exact_rate))});
  return Json::array({exact_row("rate: " + rate_text(exact_rate), found.number(0, 0), found.number(0, 1),
                                exact_rate.n + exact_rate.burst)});
}

Json rows_of_key_rate(Administration& database) {
  const AdminRows found = database.query("bench_key_starts", {std::to_string(exact_key_rate.per_us)});
  return Json::array({exact_row("rate of a key: " + rate_text(exact_key_rate), found.number(0, 0), found.number(0, 1),
                                exact_key_rate.n + exact_key_rate.burst)});
}

Json rows_of_concurrency(Administration& database) {
  const AdminRows found = database.query("bench_holds", {exact_queue});
  return Json::array(
      {exact_row("concurrency", found.number(0, 0), found.number(0, 1), exact_concurrency),
       exact_row("concurrency of a key", found.number(0, 0), found.number(0, 2), exact_key_concurrency)});
}

struct ExactCase {
  QueueLimits limits;
  Json (*rows)(Administration& database);
};

std::vector<ExactCase> exact_cases() {
  return {{{.name = exact_queue, .rate = exact_rate}, rows_of_rate},
          {{.name = exact_queue, .key = "/customer", .key_rate = exact_key_rate}, rows_of_key_rate},
          {{.name = exact_queue,
            .concurrency = exact_concurrency,
            .key = "/customer",
            .key_concurrency = exact_key_concurrency},
           rows_of_concurrency}};
}

std::int64_t held_now(Store& store) {
  std::int64_t held = 0;
  for (const QueueRow& queue : store.jobs().queues()) held += queue.held;
  return held;
}

}  // namespace

Result<Json> measure_exactness(const std::string& dsn, BenchServer&, const BenchOptions& options) {
  const std::int64_t runs = options.runs > 0 ? options.runs : exact_runs_by_default;
  Json table = Json::array();
  std::int64_t left = 0;
  for (const ExactCase& one : exact_cases()) {
    FreshDatabase database(dsn);
    Result<Opened> opened = open_bench(database);
    if (!opened) return opened.error();
    database.administration().execute(std::string(limit_notes()));
    if (const auto set = opened->store->limits().change_limits({one.limits, "bench"}); !set) return set.error();
    carry_out_and_kill(database, *opened, runs);
    for (Json& row : one.rows(database.administration())) table.push_back(std::move(row));
    left += held_now(*opened->store);
  }
  std::int64_t beyond = 0;
  for (const Json& row : table)
    beyond = std::max(beyond, row["most"].get<std::int64_t>() - row["allowed"].get<std::int64_t>());
  return Json{{"value", std::max<std::int64_t>(beyond, 0)},
              {"unit", "starts or holds beyond a limit, at most"},
              {"runs", runs},
              {"workers", workers_of_exactness},
              {"killed", killed_of_exactness},
              {"left_held", left},
              {"table", std::move(table)}};
}

}  // namespace cairn
