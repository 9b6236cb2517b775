#include "storage/postgres/reachable.hpp"

#include <array>
#include <string_view>

#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"
#include "storage/postgres/dsn.hpp"

namespace cairn {
namespace {

constexpr auto seen_columns =
    std::to_array<std::string_view>({"is_replica", "wal_bytes", "now_us", "replayed_until_us"});
constexpr auto replica_columns = std::to_array<std::string_view>({"now_us", "until_us", "follows"});

PgConnectOptions soon(const std::string& dsn, const std::string& application) {
  PgConnectOptions options{.dsn = dsn, .prepared = false, .overrides = {}, .silence_ms = 2'000};
  options.overrides = {{"application_name", application}, {"connect_timeout", "2"}, {"tcp_user_timeout", "2000"}};
  return options;
}

std::string identity_of(PgConnection& connection) {
  constexpr std::string_view no_such_table = "42P01";
  try {
    const PgResult rows = connection.query(statement("identity"));
    return rows.rows() == 0 ? "" : std::string(rows.text(0, 0));
  } catch (const PostgresError& failure) {
    if (failure.sqlstate() != no_such_table) throw;
    return "";
  }
}

// A pooler that keeps a connection for each client never answers two of them by one, nor one client by two. One that
// does not takes the connection that was given back last, unless others come between.
bool do_share_connections(Administration& one, std::int64_t backend, PgConnection& other) {
  constexpr int tries = 5;
  for (int n = 0; n < tries; ++n) {
    const std::int64_t others = other.query(statement("backend")).int4(0, 0);
    if (others == backend || one.query("backend").number(0, 0) != backend) return true;
  }
  return false;
}

}  // namespace

Status probe_database(const std::string& dsn) {
  try {
    PgConnection connection(soon(dsn, "cairn readyz"));
    connection.execute("BEGIN");
    connection.query(statement("doctor_write"));
    connection.execute("ROLLBACK");
    return Done{};
  } catch (const PostgresError& failure) {
    constexpr std::string_view lacks_right = "42501";  // to make temporary tables: it answers
    if (failure.sqlstate() == lacks_right) return Done{};
    return Error{Code::unavailable, failure.what()};
  }
}

Result<ServerSeen> probe_server(const std::string& dsn) {
  try {
    PgConnection connection(soon(dsn, "cairn"));
    ServerSeen seen;
    const PgResult row = connection.query(statement("server_seen"));
    row.expect_columns(seen_columns);
    seen.is_replica = row.boolean(0, 0);
    seen.wal_bytes = row.int8(0, 1);
    seen.now_us = row.int8(0, 2);
    seen.replayed_until_us = row.int8(0, 3);
    seen.identity = identity_of(connection);
    return seen;
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, failure.what()};
  }
}

Result<ReplicaSeen> probe_replica(const std::string& dsn) {
  try {
    PgConnection connection(soon(dsn, "cairn"));
    const PgResult row = connection.query(statement("replica_seen"));
    row.expect_columns(replica_columns);
    return ReplicaSeen{row.int8(0, 0), row.int8(0, 1), row.boolean(0, 2)};
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, failure.what()};
  }
}

Status check_pooler(Administration& database, std::int64_t backend, const std::string& dsn) {
  const Result<Pooler> said = pooler_of_environment();
  if (!said) return said.error();
  if (backend == database.backend() && *said != Pooler::transaction) return Done{};
  try {
    PgConnection other(soon(dsn, "cairn"));
    if (*said != Pooler::session || !do_share_connections(database, backend, other)) return Done{};
  } catch (const PostgresError& failure) {
    if (failure.sqlstate() == pooler_is_unfit) return Error{Code::unavailable, failure.what()};
    return Done{};  // it has no second connection to give right now: the store finds out
  }
  return Error{Code::unavailable,
               "Expected a pooler that keeps a connection for each client, as CAIRN_POOLER=session says, but this one "
               "gives one to several in turn: CAIRN_POOLER=transaction works behind it."};
}

Status check_direct_way(PgConnection& direct, const std::string& identity) {
  if (direct.is_pooled())
    return Error{Code::unavailable, "Expected CAIRN_DSN_DIRECT to lead past the pooler, but it leads to one."};
  const std::string found = identity_of(direct);
  if (found == identity) return Done{};
  return Error{Code::unavailable, "Expected CAIRN_DSN_DIRECT to lead to database " + identity + ", but it leads to " +
                                      (found.empty() ? "one without the schema cairn." : "database " + found + ".")};
}

Result<WakeUpFound> find_wake_up(const std::string& dsn, const std::string& direct_dsn) {
  std::string identity;
  try {
    PgConnection connection(soon(dsn, "cairn"));
    if (!connection.is_pooled()) return WakeUpFound{WakeUp::notifications};
    identity = identity_of(connection);
  } catch (const PostgresError& failure) {
    return Error{Code::unavailable, failure.what()};
  }
  if (direct_dsn.empty()) return WakeUpFound{WakeUp::polls};
  if (const Status fine = check_dsn(direct_dsn, "CAIRN_DSN_DIRECT"); !fine) return WakeUpFound{WakeUp::polls, fine};
  try {
    PgConnectOptions options = soon(direct_dsn, "cairn");
    options.is_direct = true;
    PgConnection direct(options);
    const Status way = check_direct_way(direct, identity);
    return WakeUpFound{way ? WakeUp::notifications_past_pooler : WakeUp::polls, way};
  } catch (const PostgresError& failure) {
    return WakeUpFound{WakeUp::polls,
                       Error{Code::unavailable,
                             std::string("Expected CAIRN_DSN_DIRECT to lead to the server, but: ") + failure.what()}};
  }
}

}  // namespace cairn
