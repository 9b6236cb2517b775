#include "tests/storage/limits/noted_starts.hpp"

#include "storage/postgres/connection.hpp"

namespace cairn::test {
namespace {

constexpr std::string_view triggers = R"(
create table public.claimed (tx bigint not null);
create table public.allowed (tx bigint not null, at bigint not null);
grant all on public.claimed, public.allowed to public;
create function public.note_claimed() returns trigger language plpgsql as
  $$ begin insert into public.claimed values (txid_current()); return null; end $$;
create function public.note_allowed() returns trigger language plpgsql as
  $$ begin insert into public.allowed values (txid_current(), new.at); return null; end $$;
create trigger note_claimed after update of session on cairn.job
  for each row when (old.session is null and new.session is not null) execute function public.note_claimed();
create trigger note_allowed after insert or update on cairn.rate for each row execute function public.note_allowed();
)";

}  // namespace

void note_starts(const std::string& dsn) {
  PgConnection connection({.dsn = dsn, .application = "test", .prepared = false});
  connection.execute(triggers);
}

std::vector<TimeUs> noted_starts(const std::string& dsn) {
  PgConnection connection({.dsn = dsn, .application = "test", .prepared = false});
  const PgResult rows = connection.query(
      {"noted_starts", "select a.at from public.claimed c join public.allowed a on a.tx = c.tx order by a.at"});
  std::vector<TimeUs> starts;
  for (int row = 0; row < rows.rows(); ++row) starts.push_back(rows.int8(row, 0));
  return starts;
}

}  // namespace cairn::test
