#include "tests/storage/limits/noted_holds.hpp"

#include "storage/postgres/connection.hpp"
#include "storage/postgres/schema.hpp"

namespace cairn::test {

void note_holds(const std::string& dsn) {
  PgConnection connection({.dsn = dsn, .application = "test", .prepared = false});
  connection.execute(limit_notes());
}

NotedHolds noted_holds(const std::string& dsn, const std::string& queue) {
  PgConnection connection({.dsn = dsn, .application = "test", .prepared = false});
  const PgResult row = connection.query(statement("bench_holds"), PgParameters().add(queue));
  return {row.int8(0, 0), row.int8(0, 1), row.int8(0, 2)};
}

}  // namespace cairn::test
