#include "storage/postgres/claims/held_starts.hpp"

#include <numeric>
#include <optional>
#include <vector>

#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/claims/claim_rooms.hpp"
#include "storage/postgres/claims/claim_transaction.hpp"
#include "storage/postgres/claims/limit_uses.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

// A queue for whose held jobs starts are wanted.
struct Wanted {
  const std::string& queue;
  const KeyCounts& asked;
};

// Facts as they are read under the queue's lock.
struct QueueFacts {
  QueueLimits limits = {};
  LimitUses queues = {};  // of the one queue
  LimitUses keys = {};
  TimeUs now_us = 0;
};

// Reservations go by the jobs that are held, which are asked for only where that counts. A step that ends between the
// two is counted in both; the other way round it would be in neither. `retires`: without permits whose jobs have ended.
void find_held(const std::string& queue, const AskEachNode& ask_each, bool retires, QueueFacts& found) {
  const std::vector<std::string> names{queue};
  found.queues[queue].held = 0;
  found.queues[queue].budgets.clear();
  for (const PgResult& part : ask_each("retire_permits", permit_parameters(names, retires, 0)))
    add_permits(part, found.queues);
  for (const PgResult& part : ask_each("budget_uses", budgets_of_queues(names)))
    add_budget_uses(part, false, found.queues);
}

std::int64_t sum_of(const KeyCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& key) { return sum + key.second; });
}

KeyCounts starts_of(const Wanted& wanted, const AskEachNode& ask_each, QueueFacts& found) {
  const QueueLimits& limits = found.limits;
  std::vector<std::string> keys;
  for (const auto& [key, count] : wanted.asked) keys.push_back(key);
  const bool counts_held = !limits.reserves.empty() && limits.has_budgets();
  const auto count = [&](bool retires) {
    if (counts_held) find_held(wanted.queue, ask_each, retires, found);
    if (limits.has_keys()) found.keys = uses_of_keys(limits, keys, ask_each);
    return held_starts(limits, wanted.asked, use_of(found.queues, wanted.queue), found.keys, found.now_us);
  };
  KeyCounts starts = count(false);
  return counts_held && sum_of(starts) < sum_of(wanted.asked) ? count(true) : starts;
}

// The rates as they stand when so many starts of each key are taken, to be written; nothing: none counts them. Their
// rows may be any shard's: the greatest time of all counts.
std::optional<PgParameters> rates_after(const Wanted& wanted, const KeyCounts& taken, const QueueFacts& found) {
  constexpr Shard shard = 0;
  const std::int64_t all = sum_of(taken);
  CHECK(all <= sum_of(wanted.asked));  // a start that is counted is one that a held job makes
  if (all == 0 || (!found.limits.rate && !found.limits.key_rate)) return std::nullopt;
  PgArray keys(PgType::text), full_at(PgType::int8);
  const auto add = [&](const std::string& key, const StartRate& rate, const QueueUse& use, std::int64_t count) {
    keys.add(key);
    full_at.add(full_at_after(rate, use.full_at.value_or(found.now_us), found.now_us, count));
  };
  if (found.limits.rate) add("", *found.limits.rate, use_of(found.queues, wanted.queue), all);
  if (found.limits.key_rate)
    for (const auto& [key, count] : taken) add("=" + key, *found.limits.key_rate, use_of(found.keys, key), count);
  PgParameters parameters;
  parameters.add(shard).add(wanted.queue).add(std::move(keys)).add(std::move(full_at));
  return parameters.add(found.now_us);
}

// A queue that was never set has no limits.
QueueLimits limits_of(const std::string& queue, const PgResult& rows) {
  std::vector<QueueLimits> limits = read_queue_limits(rows);
  return limits.empty() ? QueueLimits{.name = queue} : std::move(limits.front());
}

KeyCounts take_across(Placements& placements, const Wanted& wanted) {
  const std::vector<std::string> names{wanted.queue};
  const PgParameters queues = PgParameters().add(text_array(names));
  return placements.whole().run([&](PgConnection& lock) {
    begin_lock(lock);
    QueueFacts found{.limits = limits_of(wanted.queue, lock.query(statement("lock_queues"), queues))};
    for (const PgResult& part : placements.query_each("queue_rates", queues)) add_rates(part, found.queues);
    for (const PgResult& part : placements.query_each("budget_uses", budgets_of_queues(names)))
      add_budget_uses(part, false, found.queues);
    found.now_us = lock.query(statement("database_time")).int8(0, 0);
    const auto ask_each = [&](std::string_view name, const PgParameters& parameters) {
      return placements.query_each(name, parameters);
    };
    KeyCounts taken = starts_of(wanted, ask_each, found);
    if (const auto rates = rates_after(wanted, taken, found)) placements.query(0, "take_starts", *rates);
    lock.execute("COMMIT");
    return taken;
  });
}

}  // namespace

KeyCounts take_held_starts(Placements& placements, const std::string& queue, const KeyCounts& asked) {
  const Wanted wanted{queue, asked};
  if (placements.are_distributed()) return take_across(placements, wanted);
  const std::vector<std::string> names{queue};
  const PgParameters queues = PgParameters().add(text_array(names));
  return placements.whole().run([&](PgConnection& connection) {
    connection.begin_pipeline();
    connection.send(begin_statement());
    connection.send(statement("lock_queues"), queues);
    connection.send(statement("queue_rates"), queues);
    connection.send(statement("budget_uses"), budgets_of_queues(names));
    connection.send(statement("database_time"));  // when the lock is held: all starts are in its order
    connection.sync();
    connection.receive();  // of BEGIN
    QueueFacts found{.limits = limits_of(queue, connection.receive())};
    add_rates(connection.receive(), found.queues);
    add_budget_uses(connection.receive(), false, found.queues);
    found.now_us = connection.receive().int8(0, 0);
    KeyCounts taken = starts_of(wanted, asking_here(connection), found);
    const std::optional<PgParameters> rates = rates_after(wanted, taken, found);
    rates ? connection.send(statement("take_starts"), *rates) : connection.send(statement("wait_for_no_disk"));
    connection.send(commit_statement());
    connection.sync();
    connection.finish();
    return taken;
  });
}

}  // namespace cairn
