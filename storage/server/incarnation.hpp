// The new incarnation of a restored database: the sessions of that past are gone, and no hold of theirs is honoured
// (decision 0101). The identity stays, as it is the same database. Safe from any thread; an Administration belongs to
// one.
#pragma once

#include <cstdint>
#include <string>

#include "engine/result.hpp"

namespace cairn {

class Administration;

struct ForgottenSessions {
  std::int64_t sessions = 0;  // that were at work, and are no more
  std::int64_t holds = 0;     // of theirs, whose steps are lost
};

// In one transaction, in a schema of any version. Throws PostgresError.
ForgottenSessions forget_sessions(Administration& database);

// The same on a server that its own programs restored, with a login that has the rights of cairn_app.
// `beside_workers`: also while sessions are at work, which then lose what they execute. Refuses `unavailable` (no
// answer, or a server that takes no writes yet), `not_found` and as find_schema (a schema that is not this program's),
// `conflict` (a session is at work).
Result<ForgottenSessions> begin_new_incarnation(const std::string& dsn, bool beside_workers);

}  // namespace cairn
