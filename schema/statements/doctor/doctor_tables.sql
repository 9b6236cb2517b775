select s.relname::text, s.n_live_tup, s.n_dead_tup,
       coalesce(extract(epoch from clock_timestamp() - greatest(s.last_autovacuum, s.last_vacuum)), -1)::bigint,
       coalesce('autovacuum_enabled=off' = any (c.reloptions) or 'autovacuum_enabled=false' = any (c.reloptions), false)
from pg_stat_user_tables s join pg_class c on c.oid = s.relid
where s.schemaname = 'cairn' and s.relname in ('event', 'job', 'run', 'worker')
order by s.relname
