// Durable steps of a queue with a limit that does not bind, in turns with the same steps without one: a limit of each
// kind.
#include <cmath>
#include <utility>
#include <vector>

#include "ops/bench/cases.hpp"
#include "ops/bench/rig/traffic.hpp"
#include "storage/limit_book.hpp"

namespace cairn {
namespace {

constexpr int limited_turns = 2;  // of each kind, between those without a limit

Result<TrafficReport> measure_turn(const std::string& dsn, BenchServer& server, const Traffic& traffic,
                                   const QueueLimits& limits) {
  FreshDatabase database(dsn);
  Result<Opened> opened = open_bench(database);
  if (!opened) return opened.error();
  if (limits.is_limited())
    if (const auto set = opened->store->limits().change_limits({limits, "bench"}); !set) return set.error();
  return measure_traffic(server, database, *opened, traffic);
}

// Rates of steps, with the limits and without.
struct Turns {
  double with = 0;
  double without = 0;
};

Result<Turns> measure_turns(const std::string& dsn, BenchServer& server, const Traffic& traffic,
                            const QueueLimits& limits) {
  Turns sums;
  for (int turn = 0; turn <= 2 * limited_turns; ++turn) {
    const bool is_limited = turn % 2 == 1;
    const Result<TrafficReport> report =
        measure_turn(dsn, server, traffic, is_limited ? limits : QueueLimits{.name = limits.name});
    if (!report) return report.error();
    (is_limited ? sums.with : sums.without) += report->spent.rate();
  }
  return Turns{sums.with / limited_turns, sums.without / (limited_turns + 1)};
}

// All runs share the empty key, since they have no such tag. The ageing never comes to count either.
std::vector<std::pair<std::string, QueueLimits>> limits_that_never_bind(const std::string& queue) {
  constexpr TimeUs day_us = 86'400'000'000;
  constexpr StartRate a_million_a_second{1'000'000, 1'000'000, 1'000'000};
  constexpr UnitBudget most_a_month{BudgetUnit::tokens, BudgetWindow::month, budget_amount_max};
  return {{"concurrency", {.name = queue, .concurrency = 1'000'000}},
          {"rate", {.name = queue, .rate = a_million_a_second}},
          {"keys", {.name = queue, .key = "tag.customer"}},
          {"key_concurrency", {.name = queue, .key = "tag.customer", .key_concurrency = 1'000'000}},
          {"key_rate", {.name = queue, .key = "tag.customer", .key_rate = a_million_a_second}},
          {"key_budgets", {.name = queue, .key = "tag.customer", .key_budgets = {most_a_month}}},
          {"budgets", {.name = queue, .budgets = {most_a_month}}},
          {"reserves", {.name = queue, .budgets = {most_a_month}, .reserves = {{BudgetUnit::tokens, 1}}}},
          {"ageing", {.name = queue, .ageing_us = day_us}}};
}

}  // namespace

Result<Json> measure_queue_limits(const std::string& dsn, BenchServer& server, const BenchOptions& options) {
  Traffic traffic;
  traffic.workers = options.workers > 0 ? options.workers : 2;
  traffic.extent = {options.runs, options.seconds};
  const std::string queue = "default";
  Json line = {{"unit", "steps/s"}, {"limit_is", "the same without a limit, in turns"}, {"workers", traffic.workers}};
  for (const auto& [name, limits] : limits_that_never_bind(queue)) {
    const Result<Turns> found = measure_turns(dsn, server, traffic, limits);
    if (!found) return found.error();
    line[name] = {{"value", std::round(found->with)},
                  {"limit", std::round(found->without)},
                  {"ratio", rounded(found->with / found->without, 1'000)}};
  }
  line["value"] = line["rate"]["value"];
  line["limit"] = line["rate"]["limit"];
  line["ratio"] = line["rate"]["ratio"];
  return line;
}

}  // namespace cairn
