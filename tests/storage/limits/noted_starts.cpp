#include "tests/storage/limits/noted_starts.hpp"

#include "storage/postgres/connection.hpp"

namespace cairn::test {
namespace {

constexpr std::string_view triggers = R"(
create table if not exists public.claimed (tx bigint not null, key text);
create table if not exists public.allowed
  (nth bigserial, tx bigint, key text not null, at bigint not null, full_at bigint not null);
grant all on public.claimed, public.allowed, public.allowed_nth_seq to public;
create or replace function public.note_claimed() returns trigger language plpgsql as
  $$ begin insert into public.claimed values (txid_current(), new.limit_key); return null; end $$;
create or replace function public.note_allowed() returns trigger language plpgsql as
  $$ begin insert into public.allowed (tx, key, at, full_at) values (txid_current(), new.key, new.at, new.full_at);
           return null; end $$;
create or replace trigger note_claimed after update of session on cairn.job
  for each row when (old.session is null and new.session is not null) execute function public.note_claimed();
create or replace trigger note_allowed after insert or update on cairn.rate
  for each row execute function public.note_allowed();
)";

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
  connection.execute(triggers);
}

std::vector<TimeUs> noted_starts(const std::string& dsn) { return times_of(dsn, {"noted_starts", by_claims}, {}); }

std::vector<TimeUs> noted_starts_of_key(const std::string& dsn, const std::string& key) {
  return times_of(dsn, {"noted_starts_of_key", of_a_key}, PgParameters().add(key));
}

std::vector<TimeUs> noted_taken_starts(const std::string& dsn, TimeUs interval_us) {
  return times_of(dsn, {"noted_taken_starts", taken}, PgParameters().add(interval_us));
}

}  // namespace cairn::test
