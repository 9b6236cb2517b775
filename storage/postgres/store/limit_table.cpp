#include "storage/postgres/store/limit_table.hpp"

#include <algorithm>
#include <utility>

#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/claims/held_starts.hpp"
#include "storage/postgres/claims/limit_uses.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

// The only one of these rows, or the limits of a queue that was never set.
QueueLimits limits_in(const PgResult& rows, const std::string& name) {
  std::vector<QueueLimits> found = read_queue_limits(rows);
  return found.empty() ? QueueLimits{.name = name} : std::move(found.front());
}

PgParameters limit_parameters(const QueueLimits& limits) {
  PgParameters parameters;
  parameters.add(limits.name).add(limits.revision);
  limits.concurrency ? parameters.add(*limits.concurrency) : parameters.add_null(PgType::int4);
  parameters.add(limits.paused);
  const std::string text = limits_text(limits);
  text.empty() ? parameters.add_null(PgType::text) : parameters.add(text);
  return parameters;
}

}  // namespace

std::vector<QueueLimits> LimitTable::queue_limits() {
  return read_queue_limits(parts_.placements.whole().query("queue_limits"));
}

// Waits for the claims under way (exclude_claims), so that the jobs they take are counted.
Result<QueueLimits> LimitTable::change_limits(const LimitChange& change) {
  if (const Status fine = check_limits(change.limits); !fine) return fine.error();
  const bool are_distributed = parts_.placements.are_distributed();
  if (are_distributed && change.limits.is_counted())
    if (const Status paused = pause_in_cluster(change); !paused) return paused.error();
  Result<QueueLimits> changed =
      parts_.placements.whole().run_widely([&](PgConnection& connection) -> Result<QueueLimits> {
        if (!are_distributed) connection.query(statement("exclude_claims"));
        return put_limits(connection, change);
      });
  if (changed && changed->has_keys()) find_keys(change.limits.name);
  parts_.claimer.limits_changed(change.limits.name);
  return changed;
}

// In a transaction. A change that is there already, perhaps by an attempt whose answer was lost, is not made twice.
Result<QueueLimits> LimitTable::put_limits(PgConnection& connection, const LimitChange& change) {
  const std::string& name = change.limits.name;
  const PgParameters queue = PgParameters().add(name);
  const QueueLimits found = limits_in(connection.query(statement("lock_limits"), queue), name);
  QueueLimits next = change.limits;
  ++next.revision;
  if (found == next) return next;
  if (const Status fits = check_change(found, change); !fits) return fits.error();
  const PgParameters parameters = limit_parameters(next);
  connection.query(statement("put_limits"), parameters);
  connection.query(statement("put_queue_change"), PgParameters(parameters).add(parts_.clock.now()).add(change.actor));
  if (next.is_counted() && !parts_.placements.are_distributed()) connection.query(statement("permit_queue"), queue);
  return next;
}

// The keys of the queue's jobs and permits, as its limits name them now. Claims find what was keyed before by its old
// keys until this has come by.
void LimitTable::find_keys(const std::string& queue) {
  for (Shard shard = 0; shard < shards_; ++shard) {
    parts_.placements.query_widely(shard, "key_jobs", PgParameters().add(shard).add(queue).add(false));
    parts_.placements.query_widely(shard, "key_permits", PgParameters().add(shard).add(queue));
  }
}

// In several transactions, as no lock spans the nodes. A queue that gets a concurrency is paused until the claims under
// way have ended on each node and the jobs that they hold are counted; a claim that begins later sees the limits.
Status LimitTable::pause_in_cluster(const LimitChange& change) {
  const PgParameters queue = PgParameters().add(change.limits.name);
  const QueueLimits found = limits_in(parts_.placements.whole().query("limits_of_queue", queue), change.limits.name);
  if (const Status fits = check_change(found, change); !fits) return fits.error();
  parts_.placements.whole().query("pause_queue", queue);
  for (const Shard shard : parts_.placements.one_shard_of_each())
    parts_.placements.run_widely(shard, [&](PgConnection& connection) {
      connection.query(statement("exclude_claims"));
      connection.query(statement("permit_queue"), queue);
      return Done{};
    });
  return Done{};
}

std::int64_t LimitTable::take_starts(const std::string& queue, std::int64_t count) {
  return take_held_starts(parts_.placements, queue, count);
}

std::map<std::string, QueueUse> LimitTable::queue_uses(const std::vector<std::string>& queues) {
  LimitUses uses;
  for (const PgResult& part : parts_.placements.query_each("queue_rates", PgParameters().add(text_array(queues))))
    add_rates(part, uses);
  for (const PgResult& part : parts_.placements.query_each("budget_uses", budgets_of_queues(queues)))
    add_budget_uses(part, false, uses);
  return uses;
}

std::map<BranchId, std::string> LimitTable::keys_of_run(const RunId& run) {
  std::map<BranchId, std::string> keys;
  const Shard shard = shard_of(run, shards_);
  const PgResult rows = parts_.placements.query(shard, "keys_of_run", PgParameters().add(shard).add(run));
  for (int row = 0; row < rows.rows(); ++row) keys[rows.int4(row, 0)] = rows.text(row, 1);
  return keys;
}

std::map<std::string, QueueUse> LimitTable::key_uses(const std::string& queue, const std::vector<std::string>& keys) {
  LimitUses uses;
  const PgParameters wanted = PgParameters().add(queue).add(text_array(keys));
  for (const PgResult& part : parts_.placements.query_each("key_uses", wanted)) add_key_uses(part, uses);
  for (const PgResult& part : parts_.placements.query_each("budget_uses", budgets_of_keys(queue, keys)))
    add_budget_uses(part, true, uses);
  return uses;
}

std::vector<KeyUnitUse> LimitTable::budget_uses(const std::string& queue, std::int32_t limit) {
  LimitUses keys;
  // A key's use may lie on several nodes, and each knows only its part of it.
  constexpr std::int32_t of_each_node = 10'000;
  const std::int32_t asked = std::max(limit, parts_.placements.are_distributed() ? of_each_node : 0);
  const PgParameters most = PgParameters().add(queue).add(asked);
  for (const PgResult& part : parts_.placements.query_each_widely("budget_uses_of_keys", most))
    add_budget_uses(part, true, keys);
  return most_used(keys, limit, parts_.clock.now());
}

std::vector<LimitChangeRow> LimitTable::limit_changes(const std::string& queue, std::int64_t before,
                                                      std::int32_t limit) {
  const PgParameters asked = PgParameters().add(queue).add(before).add(std::max(limit, 0));
  const PgResult rows = parts_.placements.whole().query("queue_changes", asked);
  std::vector<LimitChangeRow> changes;
  for (QueueLimits& limits : read_queue_limits(rows)) {
    const int row = static_cast<int>(changes.size());
    changes.push_back({std::move(limits), rows.int8(row, 5), std::string(rows.text(row, 6))});
  }
  return changes;
}

}  // namespace cairn
