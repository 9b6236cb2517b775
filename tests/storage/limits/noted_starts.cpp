#include "tests/storage/limits/noted_starts.hpp"

#include "storage/postgres/connection.hpp"
#include "storage/postgres/schema.hpp"

namespace cairn::test {
namespace {

constexpr const char* by_claims =
    "select a.at from public.claimed c join public.allowed a on a.tx = c.tx and a.key = '' order by a.at";
constexpr const char* of_a_key =
    "select a.at from public.claimed c join public.allowed a on a.tx = c.tx and a.key = '=' || c.key "
    "where c.key = $1::text order by a.at";
// The queue's lock puts the rows in the order of their starts.
constexpr const char* taken = R"(
select a.at
from (select tx, at, full_at,
        greatest(at, max(full_at) over (order by nth rows between unbounded preceding and 1 preceding)) as before
      from public.allowed where key = '') a, generate_series(1, (a.full_at - a.before) / $1)
where a.tx not in (select tx from public.claimed)
order by a.at)";

std::vector<TimeUs> times_of(const std::string& dsn, const PgStatement& query, const PgParameters& parameters) {
  PgConnection connection({.dsn = dsn, .application = "test", .prepared = false});
  const PgResult rows = connection.query(query, parameters);
  std::vector<TimeUs> times;
  for (int row = 0; row < rows.rows(); ++row) times.push_back(rows.int8(row, 0));
  return times;
}

}  // namespace

void note_starts(const std::string& dsn) {
  PgConnection connection({.dsn = dsn, .application = "test", .prepared = false});
  connection.execute(limit_notes());
}

std::vector<TimeUs> noted_starts(const std::string& dsn) { return times_of(dsn, {"noted_starts", by_claims}, {}); }

std::vector<TimeUs> noted_starts_of_key(const std::string& dsn, const std::string& key) {
  return times_of(dsn, {"noted_starts_of_key", of_a_key}, PgParameters().add(key));
}

std::vector<TimeUs> noted_taken_starts(const std::string& dsn, TimeUs interval_us) {
  return times_of(dsn, {"noted_taken_starts", taken}, PgParameters().add(interval_us));
}

}  // namespace cairn::test
