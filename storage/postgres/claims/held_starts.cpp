#include "storage/postgres/claims/held_starts.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "storage/postgres/claim_parameters.hpp"
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

// It may be any shard's row: the greatest time of all counts.
TakenStarts starts_of(const std::string& queue, std::int64_t count, const PgResult& limits, const QueueUse& use,
                      TimeUs now_us) {
  constexpr Shard shard = 0;
  const std::vector<QueueLimits> found = read_queue_limits(limits);
  if (found.empty()) return {count};
  const QueueRoom room = room_of_held(found.front(), use, now_us);
  TakenStarts taken{std::min(count, room.free)};
  if (room.pace_us > 0 && taken.count > 0)
    taken.rate = PgParameters().add(shard).add(queue).add(room.full_at + taken.count * room.pace_us).add(now_us);
  return taken;
}

std::int64_t take_across(Placements& placements, const std::string& queue, std::int64_t count) {
  const PgParameters queues = PgParameters().add(text_array(std::vector<std::string>{queue}));
  return placements.whole().run([&](PgConnection& lock) {
    begin_lock(lock);
    const PgResult limits = lock.query(statement("lock_queues"), queues);
    LimitUses uses;
    for (const PgResult& part : placements.query_each("queue_rates", queues)) add_rates(part, uses);
    const TimeUs now_us = lock.query(statement("database_time")).int8(0, 0);
    const TakenStarts taken = starts_of(queue, count, limits, use_of(uses, queue), now_us);
    if (taken.rate) placements.query(0, "take_starts", *taken.rate);
    lock.execute("COMMIT");
    return taken.count;
  });
}

}  // namespace

std::int64_t take_held_starts(Placements& placements, const std::string& queue, std::int64_t count) {
  if (placements.are_distributed()) return take_across(placements, queue, count);
  const PgParameters queues = PgParameters().add(text_array(std::vector<std::string>{queue}));
  return placements.whole().run([&](PgConnection& connection) {
    connection.begin_pipeline();
    connection.send(begin_statement());
    connection.send(statement("lock_queues"), queues);
    connection.send(statement("queue_rates"), queues);
    connection.send(statement("database_time"));  // when the lock is held: all starts are in its order
    connection.sync();
    connection.receive();  // of BEGIN
    const PgResult limits = connection.receive();
    LimitUses uses;
    add_rates(connection.receive(), uses);
    const TimeUs now_us = connection.receive().int8(0, 0);
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
