// The extent of an audit on a replica. "Nothing found" says nothing of what the replica does not have yet.
// Pure functions, safe from any thread.
#pragma once

#include "engine/result.hpp"
#include "storage/postgres/reachable.hpp"

namespace cairn {

// The moment up to which the database is seen, a little before what the replica says: clocks differ. Refuses
// `unavailable` where it cannot be known.
Result<TimeUs> audited_until(const ReplicaSeen& seen);

// Refuses `unavailable` a replica that does not follow its primary and is more than an hour behind the clock.
Status check_lag(const ReplicaSeen& seen);

// "until 2026-11-25 15:39:02 CET", and that it follows.
std::string extent_text(const ReplicaSeen& seen);

}  // namespace cairn
