-- Rows, dead rows, seconds since the last vacuum (-1: never yet) and whether autovacuum is off, of each table. On a
-- node of a Citus cluster: of all shards that lie there.
select t.name, sum(t.live)::bigint as live, sum(t.dead)::bigint as dead,
       coalesce(max(extract(epoch from clock_timestamp() - t.vacuumed_at)), -1)::bigint as vacuumed,
       bool_or(t.is_off) as is_off
from (
  select regexp_replace(s.relname, '_[0-9]+$', '') as name, s.n_live_tup as live, s.n_dead_tup as dead,
         greatest(s.last_autovacuum, s.last_vacuum) as vacuumed_at,
         coalesce(c.reloptions && '{autovacuum_enabled=off,autovacuum_enabled=false}'::text[], false) as is_off
  from pg_stat_user_tables s join pg_class c on c.oid = s.relid
  where s.schemaname = 'cairn' and s.relname ~ '^(event|job|run|worker)(_[0-9]+)?$'
) t
group by t.name
order by t.name
