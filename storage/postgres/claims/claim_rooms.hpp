// The rooms of a claim: the limits of the queues that it asks, and what each has left, as found under the queues' locks
// in one transaction. On one server that is the claim's own; in a cluster the locks are held in one place, and the use
// is asked of all nodes. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/limits/queue_room.hpp"
#include "storage/postgres/claims/limit_uses.hpp"
#include "storage/postgres/placements.hpp"
#include "storage/queue.hpp"

namespace cairn {

struct ClaimRooms {
  std::map<std::string, QueueLimits> limits;  // of those that are limited
  LimitUses uses;
  std::map<std::string, QueueRoom> left;
  TimeUs now_us = 0;        // by the database's clock
  bool is_retired = false;  // no permit counts whose job is no longer held
};

// `limits`: the rows of lock_queues.sql.
ClaimRooms rooms_of(const PgResult& limits, LimitUses uses, TimeUs now_us);

// Lock the queues and find their rooms: what is sent, and what is received of it after a sync. `retires`: permits whose
// jobs have ended are removed first; where they stay they count, so that there is less room than there could be.
// REQUIRES: a pipeline in which BEGIN is sent, and nothing is received.
void send_rooms_query(PgConnection& connection, const std::vector<std::string>& queues, bool retires);
ClaimRooms receive_rooms(PgConnection& connection, bool retires);
// Removes those permits and finds the rooms again. REQUIRES: all that was sent is received.
void retire_permits(PgConnection& connection, const std::vector<std::string>& queues, ClaimRooms& rooms);
// Permits may leave a claim of `limit` jobs less than it wants.
bool are_short(const ClaimRooms& rooms, std::int64_t limit);
// The same in a cluster. REQUIRES: `lock` is in a transaction, which holds the queues' rows until it ends.
ClaimRooms find_rooms_across(Placements& placements, PgConnection& lock, const std::vector<std::string>& queues,
                             bool retires);
void retire_permits_across(Placements& placements, const std::vector<std::string>& queues, ClaimRooms& rooms);

// The parameters of retire_permits.sql. `all`: the permits of all jobs that are no longer held, also where there are
// places enough for `limit` jobs with them.
PgParameters permit_parameters(const std::vector<std::string>& queues, bool all, std::int32_t limit);

// Says of a batch, which such a claim took, where it left places and where it left no job. REQUIRES: queues without
// keys.
void note_what_is_left(const ClaimRequest& request, const ClaimRooms& rooms, ClaimedBatch& batch);

// The parameters that the statements claim_limited_given and claim_limited_of_runs_given have after their others. A
// queue that is not limited any more has room for any number.
PgParameters with_rooms(PgParameters parameters, const std::vector<std::string>& queues, const ClaimRooms& rooms);

}  // namespace cairn
