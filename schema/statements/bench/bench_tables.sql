-- The dead rows of the hot tables and their updates that moved no index entry, as far as the server counted.
select coalesce(sum(n_dead_tup) filter (where relname = 'job'), 0)::bigint,
       coalesce(sum(n_dead_tup) filter (where relname = 'run'), 0)::bigint,
       coalesce(sum(n_tup_hot_upd)::float8 / nullif(sum(n_tup_upd), 0), 0)::text
from pg_stat_user_tables
where schemaname = 'cairn' and relname in ('job', 'run')
