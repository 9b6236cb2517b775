#include "storage/postgres/reachable.hpp"

#include <libpq-fe.h>
#include <memory>

#include "storage/postgres/connection.hpp"

namespace cairn {
namespace {

struct Close {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};

}  // namespace

std::optional<std::string> unreachable(const std::string& dsn) {
  const char* const keys[] = {"dbname", "application_name", "connect_timeout", "tcp_user_timeout", nullptr};
  const char* const values[] = {dsn.c_str(), "cairn readyz", "2", "2000", nullptr};
  const std::unique_ptr<PGconn, Close> connection(PQconnectdbParams(keys, values, 1));
  if (PQstatus(connection.get()) != CONNECTION_OK) return PQerrorMessage(connection.get());
  const std::string& question = statement("database_time").text;
  const std::unique_ptr<PGresult, Clear> asked(PQexec(connection.get(), question.c_str()));
  if (PQresultStatus(asked.get()) != PGRES_TUPLES_OK) return PQerrorMessage(connection.get());
  return {};
}

}  // namespace cairn
