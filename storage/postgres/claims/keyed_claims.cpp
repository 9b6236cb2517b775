#include "storage/postgres/claims/keyed_claims.hpp"

#include "storage/clock.hpp"
#include "storage/commit_rules.hpp"
#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

constexpr TimeUs repair_every_us = 10'000'000;
constexpr TimeUs repair_share = 20;  // a search that finds nothing takes this part of the time at most: all keys wait

// Permits of jobs that have ended may have left the queue or a key less room than there is.
bool may_permits_cut(const ClaimRequest& request, const ClaimRooms& rooms, const KeyPlan& plan) {
  return are_short(rooms, request.limit) || (!rooms.is_retired && is_any_key_short(plan));
}

}  // namespace

ClaimedBatch KeyedClaims::claim(const ClaimRequest& request, const std::string& queue) {
  find_missing_keys(request.shard, queue);
  ClaimRequest one = request;
  one.queues = {queue};
  return placements_.are_distributed() ? claim_across(one, queue) : claim_here(one, queue);
}

// Nothing: it is too early. The next one is a while later, unless this one comes to less than all jobs.
std::optional<KeyedClaims::KeySearch> KeyedClaims::begin_search(Shard shard, const std::string& queue) {
  const std::optional<std::int64_t> revision = limits_.revision_of_keyed(queue);
  const std::lock_guard lock(mutex_);
  KeySearch& search = searches_[{queue, shard}];
  if (revision && *revision != search.revision) search = {.revision = *revision};
  if (steady_us() < search.again_at_us) return std::nullopt;
  search.again_at_us = steady_us() + repair_every_us;
  return search;
}

// A failure is left to the next search, because the call may have claimed jobs already.
void KeyedClaims::find_missing_keys(Shard shard, const std::string& queue) {
  const std::optional<KeySearch> before = begin_search(shard, queue);
  if (!before) return;
  const TimeUs began_us = steady_us();
  try {
    const KeyPortion portion =
        read_key_portion(placements_.query(shard, "key_jobs", key_parameters(shard, queue, true, before->after)));
    const std::lock_guard lock(mutex_);
    KeySearch& search = searches_[{queue, shard}];
    if (search.revision != before->revision) return;  // it has begun again
    search.after = portion.is_last ? JobPlace{} : portion.after;
    search.was_at_all = search.was_at_all || portion.is_last;
    if (search.was_at_all) return;
    const TimeUs ended_us = steady_us();
    search.again_at_us = portion.found > 0 ? 0 : ended_us + repair_share * (ended_us - began_us);
  } catch (const PostgresError&) {
  }
}

KeyPlan KeyedClaims::plan_here(PgConnection& connection, const ClaimRequest& request, const std::string& queue,
                               ClaimRooms& rooms) {
  const PgResult waiting = connection.receive();
  KeyPlan plan = plan_keys(request, queue, rooms, waiting, asking_here(connection));
  if (!may_permits_cut(request, rooms, plan)) return plan;
  retire_permits(connection, request.queues, rooms);
  return plan_keys(request, queue, rooms, waiting, asking_here(connection));
}

ClaimedBatch KeyedClaims::claim_here(const ClaimRequest& request, const std::string& queue) {
  const bool retires = limits_.is_time_to_retire(request.queues);
  ClaimRooms rooms;
  KeyPlan plan;
  KeyCounts taken;
  ClaimedBatch claimed = *claim_in_transaction(placements_, request, [&](PgConnection& connection) {
    send_rooms_query(connection, request.queues, retires);
    connection.send(statement(waiting_statement(request)), waiting_parameters(request, queue));
    connection.sync();
    rooms = receive_rooms(connection, retires);
    plan = plan_here(connection, request, queue, rooms);
    taken.clear();  // of an attempt before this one
    if (plan.changes_nothing()) return ClaimedBatch{};
    // Claims that a crash may undo are claimed again; those that are counted must stay counted.
    const bool waits_for_disk = plan.limits.counts_claims();
    if (!waits_for_disk) connection.send(statement("wait_for_no_disk"));
    connection.send(statement(keyed_statement(request)), keyed_parameters(request, plan, rooms.left.at(queue)));
    connection.sync();
    if (!waits_for_disk) connection.receive();
    ClaimedBatch batch{read_claimed_jobs_of_keys(connection.receive()), {}};
    taken = count_by_key(plan, batch.jobs);
    return batch;
  });
  // The rooms and the plan are those of the attempt that claimed: one that finds its jobs to be ours makes no others.
  limits_.record(request.queues, rooms, claimed.jobs);
  record(plan, taken);
  note_no_one_waits(claimed, plan.limits, waiting_after(plan, taken, rooms.left[queue]));
  return claimed;
}

ClaimedBatch KeyedClaims::claim_across(const ClaimRequest& request, const std::string& queue) {
  const bool retires = limits_.is_time_to_retire(request.queues);
  return placements_.whole().run([&](PgConnection& lock) {
    begin_lock(lock);
    ClaimRooms rooms = find_rooms_across(placements_, lock, request.queues, retires);
    const PgResult waiting =
        placements_.query(request.shard, waiting_statement(request), waiting_parameters(request, queue));
    const auto ask_each = [&](std::string_view name, const PgParameters& parameters) {
      return placements_.query_each(name, parameters);
    };
    KeyPlan plan = plan_keys(request, queue, rooms, waiting, ask_each);
    if (may_permits_cut(request, rooms, plan)) {
      retire_permits_across(placements_, request.queues, rooms);
      plan = plan_keys(request, queue, rooms, waiting, ask_each);
    }
    ClaimedBatch batch;
    if (!plan.changes_nothing())
      batch = claim_by(placements_, request,
                       {keyed_statement(request), keyed_parameters(request, plan, rooms.left.at(queue))},
                       read_claimed_jobs_of_keys);
    lock.execute("COMMIT");
    limits_.record(request.queues, rooms, batch.jobs);
    const KeyCounts taken = count_by_key(plan, batch.jobs);
    record(plan, taken);
    note_no_one_waits(batch, plan.limits, waiting_after(plan, taken, rooms.left[queue]));
    return batch;
  });
}

// Where keys that have jobs wait for their rate alone, others may go on: so the queue is not held back, but looked at.
void KeyedClaims::record(const KeyPlan& plan, const KeyCounts& taken) {
  if (const std::optional<TimeUs> wait_us = wait_of(plan, taken)) limits_.wake_after(*wait_us);
}

}  // namespace cairn
