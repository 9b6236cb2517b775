// Questions to a server, over connections of their own: whether it can be worked with right now, whether it is a
// replica, how workers there learn of new jobs. Safe from any thread; each blocks for two seconds until there is a
// connection, and for two more until there is an answer.
#pragma once

#include <cstdint>
#include <string>

#include "engine/id.hpp"
#include "engine/result.hpp"

namespace cairn {

class Administration;
class PgConnection;

// A readiness probe. Done once a new connection was made and wrote a little, which is rolled back: a server whose disk
// is full, or that is a standby, is not ready. Refuses `unavailable`: the error's text is for a log.
Status probe_database(const std::string& dsn);

struct ServerSeen {
  bool is_replica = false;       // in recovery: it follows another one, or is being restored
  std::string identity;          // of the database; "": it has no schema
  std::int64_t wal_bytes = 0;    // written so far; of a replica, replayed so far
  TimeUs now_us = 0;             // the server's clock
  TimeUs replayed_until_us = 0;  // of a replica: the commit that it replayed last; 0: none since it was started
};
// Refuses `unavailable`.
Result<ServerSeen> probe_server(const std::string& dsn);

struct ReplicaSeen {
  TimeUs now_us = 0;     // its clock
  TimeUs until_us = 0;   // all that was committed before is there; 0: that is not known
  bool follows = false;  // it is connected to its primary, and has replayed all that it received
};
// REQUIRES: a replica. Refuses `unavailable`.
Result<ReplicaSeen> probe_replica(const std::string& dsn);

// Refuses `unavailable` a pooler of a mode that Cairn cannot use, or of another one than CAIRN_POOLER says, as far as
// that shows at once. `backend`: the process that answers `database`, by the server's own word; without a pooler
// nothing is asked. Throws PostgresError.
Status check_pooler(Administration& database, std::int64_t backend, const std::string& dsn);

// By what a worker on this database learns of new jobs, apart from its polls.
enum class WakeUp : std::uint8_t { notifications, notifications_past_pooler, polls };
struct WakeUpFound {
  WakeUp how = WakeUp::notifications;
  Status direct_way = Done{};  // refuses if one is given and not used
};
// `direct_dsn` as CAIRN_DSN_DIRECT has it. Refuses `unavailable`: the database itself does not answer.
Result<WakeUpFound> find_wake_up(const std::string& dsn, const std::string& direct_dsn);

// Refuses `unavailable` if notifications of the database of this identity cannot be received over this connection past
// a pooler. Throws PostgresError.
Status check_direct_way(PgConnection& direct, const std::string& identity);

}  // namespace cairn
