#include "storage/postgres/store/limit_table.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/claims/held_starts.hpp"
#include "storage/postgres/claims/limit_uses.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr TimeUs change_us_max = 300'000'000;  // a change that takes longer was left by a process that died

// The limits of a queue that was never set are those of none.
QueueLimits lock_limits(PgConnection& connection, const std::string& name) {
  std::vector<QueueLimits> found =
      read_queue_limits(connection.query(statement("lock_limits"), PgParameters().add(name)));
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

// The limits before a change of them that is under way, or was left.
std::optional<QueueLimits> limits_before_change(PgConnection& connection, const std::string& name) {
  std::vector<QueueLimits> found =
      read_queue_limits(connection.query(statement("changes_under_way"), PgParameters().add(never_us).add(name)));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

Error not_paused_any_more(const std::string& name) {
  return {Code::stale, "Expected queue " + name +
                           " to stay paused while its limits change, but another change came meanwhile, or this one "
                           "took too long and was taken back: look at its limits, and change them again."};
}

// The statements of LimitBook::forget_spent: a page of each kind of rows after a mark.
struct SpentPart {
  std::string_view name;
  PgParameters (*parameters)(const SpentMark& mark, std::int32_t portion, TimeUs at_us);
};
constexpr auto spent_columns =
    std::to_array<std::string_view>({"queue", "key", "unit", "per", "shard", "looked", "changed"});
constexpr std::array<SpentPart, 3> spent_parts{{
    {"forget_rates",
     [](const SpentMark& mark, std::int32_t portion, TimeUs at_us) {
       return PgParameters().add(mark.queue).add(mark.key).add(mark.shard).add(portion).add(at_us);
     }},
    {"forget_budget_uses",
     [](const SpentMark& mark, std::int32_t portion, TimeUs at_us) {
       PgParameters parameters = PgParameters().add(mark.queue).add(mark.key).add(mark.unit).add(mark.per);
       return parameters.add(mark.shard).add(portion).add(at_us);
     }},
    {"pass_turns", [](const SpentMark& mark, std::int32_t portion,
                      TimeUs) { return PgParameters().add(mark.queue).add(mark.shard).add(portion); }},
}};

// The beginning of the same part in the next placement, or of the next part.
SpentMark after_part(const SpentMark& mark, std::size_t placements) {
  SpentMark next;
  next.part = mark.part + (mark.placement + 1 < placements ? 0 : 1);
  next.placement = next.part == mark.part ? mark.placement + 1 : 0;
  return next;
}

void count_held(PgConnection& connection, Shard shard, const std::string& queue) {
  connection.query(statement("permit_queue"), PgParameters().add(shard).add(queue));
}

}  // namespace

std::vector<QueueLimits> LimitTable::queue_limits() {
  return read_queue_limits(parts_.placements.whole().query("queue_limits"));
}

// Waits for the claims under way (exclude_claims), so that the jobs they take are counted.
Result<QueueLimits> LimitTable::change_limits(const LimitChange& change) {
  if (const Status fine = check_limits(change.limits); !fine) return fine.error();
  const bool is_in_pause = parts_.placements.are_distributed() && change.limits.is_counted();
  const Result<QueueLimits> changed = is_in_pause ? change_in_pause(change) : make_change(change, nullptr);
  if (changed && changed->has_keys()) find_keys(change.limits.name);
  parts_.claimer.limits_changed(change.limits.name);
  return changed;
}

// In a transaction. A change that is there already, perhaps by an attempt whose answer was lost, is not made twice.
// `paused`: what the queue has now if it was paused for the change.
Result<QueueLimits> LimitTable::put_limits(PgConnection& connection, const LimitChange& change,
                                           const QueueLimits* paused) {
  const std::string& name = change.limits.name;
  const QueueLimits found = lock_limits(connection, name);
  QueueLimits next = change.limits;
  ++next.revision;
  if (found == next) return next;
  if (const Status fits = check_change(found, change); !fits) return fits.error();
  if (paused != nullptr && found != *paused) return not_paused_any_more(name);
  const PgParameters parameters = limit_parameters(next);
  connection.query(statement("put_limits"), parameters);
  connection.query(statement("put_queue_change"), PgParameters(parameters).add(parts_.clock.now()).add(change.actor));
  if (next.is_counted() && !parts_.placements.are_distributed())
    for (Shard shard = 0; shard < shards_; ++shard) count_held(connection, shard, name);
  return next;
}

Result<QueueLimits> LimitTable::make_change(const LimitChange& change, const QueueLimits* paused) {
  return parts_.placements.whole().run_widely([&](PgConnection& connection) -> Result<QueueLimits> {
    if (!parts_.placements.are_distributed()) connection.query(statement("exclude_claims"));
    return put_limits(connection, change, paused);
  });
}

// The keys of the queue's waiting jobs, as its limits name them now. Claims find what was keyed before by its old
// keys until this has come by.
void LimitTable::find_keys(const std::string& queue) {
  for (Shard shard = 0; shard < shards_; ++shard)
    for (KeyPortion portion; !portion.is_last;)
      portion = read_key_portion(
          parts_.placements.query_widely(shard, "key_jobs", key_parameters(shard, queue, false, portion.after)));
}

// In several transactions, as no lock spans the nodes of a cluster. The queue has its new limits, but is paused and
// has the revision from before, until the claims under way have ended on each node and the jobs that they hold are
// counted by their new keys; a claim that begins later sees the limits. If the change fails, it gets back what it
// had; if this process dies, by end_left_changes() or the next change.
Result<QueueLimits> LimitTable::change_in_pause(const LimitChange& change) {
  QueueLimits paused = change.limits;
  paused.paused = true;
  std::optional<QueueLimits> before;
  const TimeUs now_us = parts_.clock.now();
  const Status begun = parts_.placements.whole().run_widely([&](PgConnection& connection) -> Status {
    const QueueLimits found = lock_limits(connection, paused.name);
    if (const Status fits = check_change(found, change); !fits) return fits;
    before = limits_before_change(connection, paused.name).value_or(found);
    connection.query(statement("put_limits"), limit_parameters(paused));
    connection.query(statement("begin_change"), limit_parameters(*before).add(now_us));
    return Done{};
  });
  if (!begun) return begun.error();
  try {
    count_all_held(paused.name);
    Result<QueueLimits> changed = make_change(change, &paused);
    if (!changed) end_pause(*before, paused);
    return changed;
  } catch (...) {
    end_pause(*before, paused);
    throw;
  }
}

void LimitTable::end_left_changes() {
  if (!parts_.placements.are_distributed()) return;
  const TimeUs began_before_us = parts_.clock.now() - change_us_max;
  const std::vector<QueueLimits> ended = parts_.placements.whole().run_widely([&](PgConnection& connection) {
    std::vector<QueueLimits> left = read_queue_limits(
        connection.query(statement("changes_under_way"), PgParameters().add(began_before_us).add_null(PgType::text)));
    for (const QueueLimits& before : left) connection.query(statement("put_limits"), limit_parameters(before));
    return left;
  });
  for (const QueueLimits& before : ended)
    if (before.is_counted()) count_all_held(before.name);
}

// Another change that came meanwhile stays.
void LimitTable::end_pause(const QueueLimits& before, const QueueLimits& paused) {
  const bool is_back = parts_.placements.whole().run_widely([&](PgConnection& connection) {
    if (lock_limits(connection, paused.name) != paused) return false;
    connection.query(statement("put_limits"), limit_parameters(before));
    return true;
  });
  if (is_back && before.is_counted()) count_all_held(before.name);
}

void LimitTable::count_all_held(const std::string& queue) {
  for (Shard shard = 0; shard < shards_; ++shard)
    parts_.placements.run_widely(shard, [&](PgConnection& connection) {
      connection.query(statement("exclude_claims"));
      count_held(connection, shard, queue);
      return Done{};
    });
}

KeyCounts LimitTable::take_starts(const std::string& queue, const KeyCounts& asked) {
  return take_held_starts(parts_.placements, queue, asked);
}

bool LimitTable::others_wait(const std::string& queue, Shard shard, const std::optional<std::string>& but_of,
                             TimeUs now_us) {
  PgParameters parameters = PgParameters().add(shard).add(queue);
  but_of ? parameters.add(*but_of) : parameters.add_null(PgType::text);
  return parts_.placements.query(shard, "others_wait", parameters.add(now_us)).boolean(0, 0);
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
  const TimeUs now_us = parts_.clock.now();
  const PgParameters most = PgParameters().add(queue).add(asked).add(now_us);
  for (const PgResult& part : parts_.placements.query_each_widely("budget_uses_of_keys", most))
    add_budget_uses(part, true, keys);
  return most_used(keys, limit, now_us);
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

std::optional<std::int64_t> LimitTable::forget_spent(SpentMark& mark, TimeUs at_us, std::int32_t portion) {
  const std::vector<Shard> placements = parts_.placements.one_shard_of_each();
  if (mark.part >= std::ssize(spent_parts)) return std::nullopt;
  if (mark.part == 0 && mark.placement == 0 && mark.shard < 0) end_left_changes();
  const SpentPart& part = spent_parts.at(static_cast<std::size_t>(mark.part));
  std::int64_t forgotten = 0;
  std::int64_t scanned = 0;
  if (mark.placement < placements.size()) {
    const PgResult page =
        parts_.placements.query(placements[mark.placement], part.name, part.parameters(mark, portion, at_us));
    page.expect_columns(spent_columns);
    if (page.rows() > 0) {
      mark = {mark.part,
              mark.placement,
              std::string(page.text(0, 0)),
              std::string(page.text(0, 1)),
              std::string(page.text(0, 2)),
              std::string(page.text(0, 3)),
              page.int4(0, 4)};
      scanned = page.int8(0, 5);
      forgotten = page.int8(0, 6);
    }
  }
  if (scanned < portion) mark = after_part(mark, placements.size());
  return forgotten;
}

void LimitTable::forget_key(const std::string& queue, const std::string& key) {
  parts_.placements.query_each("forget_key", PgParameters().add(queue).add(key));
}

}  // namespace cairn
