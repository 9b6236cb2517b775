#include "storage/postgres/claims/limited_claims.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "storage/postgres/claim_parameters.hpp"
#include "storage/postgres/rows.hpp"

namespace cairn {
namespace {

std::string_view given_statement(const ClaimRequest& request) {
  return request.only_runs.empty() ? "claim_limited_given" : "claim_limited_of_runs_given";
}

}  // namespace

// The kinds of queues take one statement each. They are served in the order of the rotation as well: a kind whose
// queues have jobs for every claim would leave nothing to the others.
ClaimedBatch LimitedClaims::claim(const ClaimRequest& request) {
  if (request.limit <= 0 || request.queues.empty()) return {};
  const std::vector<std::string> order = parts_.rotation.turned(request.queues);
  KnownLimits::Kinds queues = parts_.limits.kinds_of(order);
  using Claim = ClaimedBatch (LimitedClaims::*)(const ClaimRequest&);
  std::array<std::pair<std::vector<std::string>*, Claim>, 3> kinds = {
      {{&queues.governed, &LimitedClaims::claim_governed},
       {&queues.keyed, &LimitedClaims::claim_keyed},
       {&queues.counted, &LimitedClaims::claim_counted}}};
  const auto place = [&order](const auto& kind) {
    return kind.first->empty() ? order.end() : std::find(order.begin(), order.end(), kind.first->front());
  };
  std::sort(kinds.begin(), kinds.end(), [&](const auto& one, const auto& other) { return place(one) < place(other); });
  ClaimedBatch claimed;
  for (const auto& [names, claim] : kinds) {
    ClaimRequest rest = request;
    rest.queues = std::move(*names);
    rest.limit -= static_cast<std::int32_t>(claimed.jobs.size());
    if (rest.limit > 0 && !rest.queues.empty()) append(claimed, (this->*claim)(rest));
    CHECK(std::ssize(claimed.jobs) <= request.limit);  // the pool has a slot for each that it asked for, and no more
  }
  return claimed;
}

ClaimedBatch LimitedClaims::claim_keyed(const ClaimRequest& request) {
  ClaimedBatch claimed;
  ClaimRequest rest = request;
  for (const std::string& queue : request.queues) {
    rest.limit = request.limit - static_cast<std::int32_t>(claimed.jobs.size());
    if (rest.limit > 0) append(claimed, keyed_.claim(rest, queue));
  }
  return claimed;
}

// The statement counts the queues' permits itself. To look at each permit costs as much as to claim so many jobs: it is
// done now and then, and before a claim would be cut short by permits whose jobs have ended.
ClaimedBatch LimitedClaims::claim_counted(const ClaimRequest& request) {
  if (parts_.placements.are_distributed()) return claim_across(request);
  const std::string_view name = request.only_runs.empty() ? "claim_limited" : "claim_limited_of_runs";
  const PgParameters parameters = limited_parameters(request);
  const bool retires_all = parts_.limits.is_time_to_retire(request.queues);
  ClaimRooms rooms;
  ClaimedBatch claimed = *claim_in_transaction(parts_.placements, request, [&](PgConnection& connection) {
    connection.send(statement("lock_queues"), PgParameters().add(text_array(request.queues)));
    connection.send(statement("retire_permits"), permit_parameters(request.queues, retires_all, request.limit));
    connection.send(statement(name), parameters);
    connection.sync();
    connection.receive();  // of BEGIN
    const PgResult limits = connection.receive();
    LimitUses uses;
    add_permits(connection.receive(), uses);
    rooms = rooms_of(limits, std::move(uses), request.now_us);
    parts_.limits.record(request.queues, read_queue_limits(limits));
    return ClaimedBatch{read_claimed_jobs(connection.receive()), {}};
  });
  std::erase_if(rooms.limits, [](const auto& of) { return of.second.is_governed(); });  // it took nothing of those
  note_what_is_left(request, rooms, claimed);
  return claimed;
}

ClaimedBatch LimitedClaims::claim_governed(const ClaimRequest& request) {
  if (parts_.placements.are_distributed()) return claim_across(request);
  const PgParameters parameters = limited_parameters(request);
  const bool retires = parts_.limits.is_time_to_retire(request.queues);
  ClaimRooms rooms;
  ClaimedBatch claimed = *claim_in_transaction(parts_.placements, request, [&](PgConnection& connection) {
    send_rooms_query(connection, request.queues, retires);
    connection.sync();
    rooms = receive_rooms(connection, retires);
    if (are_short(rooms, request.limit)) retire_permits(connection, request.queues, rooms);
    connection.send(statement(given_statement(request)), with_rooms(parameters, request.queues, rooms));
    connection.sync();
    return ClaimedBatch{read_claimed_jobs(connection.receive()), {}};
  });
  parts_.limits.record(request.queues, rooms, claimed.jobs);
  note_what_is_left(request, rooms, claimed);
  return claimed;
}

// In a cluster. The queues' rows are locked in one place, and their use is found on all nodes, while the jobs are taken
// on one. If the connection with the lock is lost between the last check of it and the claim's COMMIT, a claim of
// another process may count without these jobs: the one way in which a limit can be passed.
ClaimedBatch LimitedClaims::claim_across(const ClaimRequest& request) {
  const PgParameters parameters = limited_parameters(request);
  const bool retires = parts_.limits.is_time_to_retire(request.queues);
  return parts_.placements.whole().run([&](PgConnection& lock) {
    begin_lock(lock);
    ClaimRooms rooms = find_rooms_across(parts_.placements, lock, request.queues, retires);
    if (are_short(rooms, request.limit)) retire_permits_across(parts_.placements, request.queues, rooms);
    ClaimedBatch claimed =
        claim_by(parts_.placements, request, {given_statement(request), with_rooms(parameters, request.queues, rooms)},
                 read_claimed_jobs);
    lock.execute("COMMIT");
    parts_.limits.record(request.queues, rooms, claimed.jobs);
    note_what_is_left(request, rooms, claimed);
    return claimed;
  });
}

}  // namespace cairn
