#include "storage/postgres/claims/claim_rooms.hpp"

#include <algorithm>
#include <utility>

#include "storage/commit_rules.hpp"
#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

// The use of the queues in one database: what is sent, and what is received of it after a sync. Reservations go by
// held jobs, which are read first: a step that ends between the two is counted in both.
void send_uses_query(PgConnection& connection, const std::vector<std::string>& queues, bool retires) {
  connection.send(statement("retire_permits"), permit_parameters(queues, retires, 0));
  connection.send(statement("queue_rates"), PgParameters().add(text_array(queues)));
  connection.send(statement("budget_uses"), budgets_of_queues(queues));
}

void receive_uses(PgConnection& connection, LimitUses& uses) {
  add_permits(connection.receive(), uses);
  add_rates(connection.receive(), uses);
  add_budget_uses(connection.receive(), false, uses);
}

// One round trip to each placement: all other claims from these queues wait meanwhile.
LimitUses uses_across(Placements& placements, const std::vector<std::string>& queues, bool retires) {
  LimitUses uses;
  for (const Shard shard : placements.one_shard_of_each())
    uses = placements.run(shard, [&](PgConnection& connection) {
      LimitUses more = uses;  // an attempt that fails adds nothing
      connection.begin_pipeline();
      send_uses_query(connection, queues, retires);
      connection.sync();
      receive_uses(connection, more);
      connection.finish();
      return more;
    });
  return uses;
}

void find_left(ClaimRooms& rooms) {
  for (const auto& [name, limits] : rooms.limits)
    rooms.left[name] = room_of(limits, use_of(rooms.uses, name), rooms.now_us);
}

}  // namespace

ClaimRooms rooms_of(const PgResult& limits, LimitUses uses, TimeUs now_us) {
  ClaimRooms rooms{.limits = {}, .uses = std::move(uses), .left = {}, .now_us = now_us};
  for (QueueLimits& queue : read_queue_limits(limits)) rooms.limits[queue.name] = std::move(queue);
  find_left(rooms);
  return rooms;
}

// The clock is read when the locks are held, so that the starts of all claims are in its order.
void send_rooms_query(PgConnection& connection, const std::vector<std::string>& queues, bool retires) {
  connection.send(statement("lock_queues"), PgParameters().add(text_array(queues)));
  send_uses_query(connection, queues, retires);
  connection.send(statement("database_time"));
}

ClaimRooms receive_rooms(PgConnection& connection, bool retires) {
  connection.receive();  // of BEGIN
  const PgResult limits = connection.receive();
  LimitUses uses;
  receive_uses(connection, uses);
  ClaimRooms rooms = rooms_of(limits, std::move(uses), connection.receive().int8(0, 0));
  rooms.is_retired = retires;
  return rooms;
}

void retire_permits(PgConnection& connection, const std::vector<std::string>& queues, ClaimRooms& rooms) {
  send_uses_query(connection, queues, true);
  connection.sync();
  rooms.uses.clear();
  receive_uses(connection, rooms.uses);
  rooms.is_retired = true;
  find_left(rooms);
}

bool are_short(const ClaimRooms& rooms, std::int64_t limit) {
  return !rooms.is_retired && std::any_of(rooms.limits.begin(), rooms.limits.end(), [&](const auto& of) {
    return of.second.is_counted() && rooms.left.at(of.first).free < limit;
  });
}

ClaimRooms find_rooms_across(Placements& placements, PgConnection& lock, const std::vector<std::string>& queues,
                             bool retires) {
  const PgResult limits = lock.query(statement("lock_queues"), PgParameters().add(text_array(queues)));
  LimitUses uses = uses_across(placements, queues, retires);
  ClaimRooms rooms = rooms_of(limits, std::move(uses), lock.query(statement("database_time")).int8(0, 0));
  rooms.is_retired = retires;
  return rooms;
}

void retire_permits_across(Placements& placements, const std::vector<std::string>& queues, ClaimRooms& rooms) {
  rooms.uses = uses_across(placements, queues, true);
  rooms.is_retired = true;
  find_left(rooms);
}

PgParameters permit_parameters(const std::vector<std::string>& queues, bool all, std::int32_t limit) {
  return PgParameters().add(text_array(queues)).add(all).add(limit);
}

void note_what_is_left(const ClaimRequest& request, const ClaimRooms& rooms, ClaimedBatch& batch) {
  const bool is_cut = !request.only_runs.empty() || !request.not_of.empty() || std::ssize(batch.jobs) >= request.limit;
  for (const auto& [name, limits] : rooms.limits) {
    const auto is_of = [&queue = name](const HeldJob& held) { return held.job.queue == queue; };
    const auto taken = std::count_if(batch.jobs.begin(), batch.jobs.end(), is_of);
    if (limits.has_keys() || rooms.left.at(name).free <= taken) continue;
    note_no_one_waits(batch, limits, {.queue = name, .for_place = true, .for_turn = !is_cut});
  }
}

PgParameters with_rooms(PgParameters parameters, const std::vector<std::string>& queues, const ClaimRooms& rooms) {
  PgArray free(PgType::int4), full_at(PgType::int8), pace(PgType::int8), ageing(PgType::int8),
      is_counted(PgType::boolean);
  for (const std::string& queue : queues) {
    const auto found = rooms.left.find(queue);
    const QueueLimits limits = found == rooms.left.end() ? QueueLimits{} : rooms.limits.at(queue);
    const QueueRoom room = found == rooms.left.end() ? room_of(limits, {}, rooms.now_us) : found->second;
    free.add(limits.has_keys() ? 0 : static_cast<std::int32_t>(room.free));  // the next claim goes key by key
    full_at.add(room.full_at);
    pace.add(room.pace_us);
    ageing.add(limits.ageing_us);
    is_counted.add(limits.is_counted());
  }
  parameters.add(std::move(free)).add(std::move(full_at)).add(std::move(pace));
  return parameters.add(std::move(ageing)).add(std::move(is_counted)).add(rooms.now_us);
}

}  // namespace cairn
