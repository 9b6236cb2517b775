#include "storage/server/incarnation.hpp"

#include <vector>

#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/schema.hpp"

namespace cairn {
namespace {

constexpr std::int64_t heard_of_late_ms = 30'000;

Status check_takes_writes(Administration& database) {
  if (!database.query("is_replica").boolean(0, 0)) return Done{};
  return Error{Code::unavailable,
               "Expected a server that has ended its recovery, but it takes no writes yet: pg_wal_replay_resume() or "
               "pg_promote() ends it."};
}

Status check_newest_schema(Administration& database) {
  const Result<SchemaFound> found = find_schema(database);
  if (!found) return found.error();
  if (found->version == newest_schema()) return Done{};
  return Error{Code::not_found, "Expected the schema cairn of version " + std::to_string(newest_schema()) +
                                    " in the database, but found version " + std::to_string(found->version) +
                                    ": `cairn migrate` comes first."};
}

Status check_idle(Administration& database) {
  const std::vector<SessionAtWork> sessions = sessions_at_work(database, heard_of_late_ms);
  if (sessions.empty()) return Done{};
  return Error{Code::conflict, "Expected no worker at work on the restored database, but session " +
                                   std::to_string(sessions.front().session) + " (process " +
                                   std::to_string(sessions.front().pid) + " on " + sessions.front().host +
                                   ") was within the last 30 s, and " + std::to_string(sessions.size() - 1) +
                                   " more: end them first, or say --beside-workers."};
}

}  // namespace

ForgottenSessions forget_sessions(Administration& database) {
  ForgottenSessions forgotten;
  database.begin();
  const AdminRows holds = database.query("forget_holds");
  holds.expect_columns({"holds"});
  forgotten.holds = holds.number(0, 0);
  const AdminRows sessions = database.query("forget_sessions");
  sessions.expect_columns({"sessions"});
  forgotten.sessions = sessions.number(0, 0);
  database.commit();
  return forgotten;
}

Result<ForgottenSessions> begin_new_incarnation(const std::string& dsn, bool beside_workers) {
  try {
    Administration database(dsn, "cairn restore");
    if (const Status writes = check_takes_writes(database); !writes) return writes.error();
    if (const Status newest = check_newest_schema(database); !newest) return newest.error();
    if (!beside_workers)
      if (const Status idle = check_idle(database); !idle) return idle.error();
    return forget_sessions(database);
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, std::string("Expected the restored database to answer, but: ") + failure.what()};
  }
}

}  // namespace cairn
