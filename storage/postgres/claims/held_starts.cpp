#include "storage/postgres/claims/held_starts.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/claims/claim_rooms.hpp"
#include "storage/postgres/claims/claim_transaction.hpp"
#include "storage/postgres/claims/limit_uses.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

// How many of `count` starts a queue has left, and how its rate stands when they are taken.
struct TakenStarts {
  std::int64_t count = 0;
  std::optional<PgParameters> rate = {};  // to be written
};

// The row of the rate may be any shard's: the greatest time of all counts.
TakenStarts starts_of(const std::string& queue, std::int64_t count, const PgResult& limits, QueueUse use,
                      TimeUs now_us) {
  constexpr Shard shard = 0;
  const std::vector<QueueLimits> found = read_queue_limits(limits);
  if (found.empty()) return {count};
  use.held = std::max<std::int64_t>(use.held - count, 0);  // what these reserve goes on
  const QueueRoom room = room_of_held(found.front(), use, now_us);
  TakenStarts taken{std::min(count, room.free)};
  if (room.pace_us > 0 && taken.count > 0)
    taken.rate = PgParameters().add(shard).add(queue).add(room.full_at + taken.count * room.pace_us).add(now_us);
  return taken;
}

// Reservations go by the jobs that are held, which are asked for only where that counts.
bool counts_held(const PgResult& limits) {
  const std::vector<QueueLimits> found = read_queue_limits(limits);
  return !found.empty() && !found.front().budgets.empty() && !found.front().reserves.empty();
}

std::int64_t take_across(Placements& placements, const std::string& queue, std::int64_t count) {
  const std::vector<std::string> names{queue};
  const PgParameters queues = PgParameters().add(text_array(names));
  return placements.whole().run([&](PgConnection& lock) {
    begin_lock(lock);
    const PgResult limits = lock.query(statement("lock_queues"), queues);
    LimitUses uses;
    for (const PgResult& part : placements.query_each("queue_rates", queues)) add_rates(part, uses);
    if (counts_held(limits))
      for (const PgResult& part : placements.query_each("retire_permits", permit_parameters(names, true, 0)))
        add_permits(part, uses);
    for (const PgResult& part : placements.query_each("budget_uses", budgets_of_queues(names)))
      add_budget_uses(part, false, uses);
    const TimeUs now_us = lock.query(statement("database_time")).int8(0, 0);
    const TakenStarts taken = starts_of(queue, count, limits, use_of(uses, queue), now_us);
    if (taken.rate) placements.query(0, "take_starts", *taken.rate);
    lock.execute("COMMIT");
    return taken.count;
  });
}

// A step that ends between the two is counted in both; the other way round it would be in neither.
void add_held_here(PgConnection& connection, const std::vector<std::string>& names, LimitUses& uses) {
  connection.send(statement("retire_permits"), permit_parameters(names, true, 0));
  connection.send(statement("budget_uses"), budgets_of_queues(names));
  connection.sync();
  add_permits(connection.receive(), uses);
  add_budget_uses(connection.receive(), false, uses);
}

}  // namespace

std::int64_t take_held_starts(Placements& placements, const std::string& queue, std::int64_t count) {
  if (placements.are_distributed()) return take_across(placements, queue, count);
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
    const PgResult limits = connection.receive();
    LimitUses uses;
    add_rates(connection.receive(), uses);
    const PgResult used = connection.receive();
    const TimeUs now_us = connection.receive().int8(0, 0);
    counts_held(limits) ? add_held_here(connection, names, uses) : add_budget_uses(used, false, uses);
    const TakenStarts taken = starts_of(queue, count, limits, use_of(uses, queue), now_us);
    taken.rate ? connection.send(statement("take_starts"), *taken.rate)
               : connection.send(statement("wait_for_no_disk"));
    connection.send(commit_statement());
    connection.sync();
    connection.finish();
    return taken.count;
  });
}

}  // namespace cairn
