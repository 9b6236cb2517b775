#include "tests/storage/limits/noted_holds.hpp"

#include "storage/postgres/connection.hpp"

namespace cairn::test {
namespace {

constexpr std::string_view trigger = R"(
create table public.held (queue text not null, of_queue bigint not null, of_key bigint not null);
grant all on public.held to public;
create function public.note_held() returns trigger language plpgsql as
  $$ begin insert into public.held
           select new.queue, count(*), count(*) filter (where j.limit_key is not distinct from new.limit_key)
           from cairn.job j where j.queue = new.queue and j.session is not null;
           return null; end $$;
create trigger note_held after update of session on cairn.job
  for each row when (old.session is null and new.session is not null) execute function public.note_held();
)";

constexpr const char* most_held =
    "select count(*), coalesce(max(of_queue), 0), coalesce(max(of_key), 0) from public.held where queue = $1::text";

}  // namespace

void note_holds(const std::string& dsn) {
  PgConnection connection({.dsn = dsn, .application = "test", .prepared = false});
  connection.execute(trigger);
}

NotedHolds noted_holds(const std::string& dsn, const std::string& queue) {
  PgConnection connection({.dsn = dsn, .application = "test", .prepared = false});
  const PgResult row = connection.query({"noted_holds", most_held}, PgParameters().add(queue));
  return {row.int8(0, 0), row.int8(0, 1), row.int8(0, 2)};
}

}  // namespace cairn::test
