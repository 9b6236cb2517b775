#include "storage/postgres/reachable.hpp"

#include "storage/postgres/connection.hpp"

namespace cairn {

Status probe_database(const std::string& dsn) {
  PgConnectOptions options{.dsn = dsn, .prepared = false, .overrides = {}, .silence_ms = 2'000};
  options.overrides = {{"application_name", "cairn readyz"}, {"connect_timeout", "2"}, {"tcp_user_timeout", "2000"}};
  try {
    PgConnection connection(options);
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

}  // namespace cairn
