-- All that must not grow with time: connections to this database, rows of jobs, dead rows of the hot tables (not of
-- `run`, which has as many as a part of its rows before a vacuum), bytes of the tables of what is at work, and of their
-- indexes. And what grows with the history: its bytes, indexes included.
select (select count(*) from pg_stat_activity where datname = current_database()) as connections,
       (select count(*) from cairn.job) as jobs,
       (select coalesce(sum(n_dead_tup), 0)::bigint from pg_stat_user_tables
        where schemaname = 'cairn'
          and relname in ('job', 'worker', 'permit', 'schedule', 'feed', 'feed_place')) as dead_rows,
       sum(pg_table_size(c.oid)) filter (where not h.is_history)::bigint as table_bytes,
       sum(pg_indexes_size(c.oid)) filter (where not h.is_history)::bigint as index_bytes,
       sum(pg_total_relation_size(c.oid)) filter (where h.is_history)::bigint as history_bytes
from pg_class c
cross join lateral (
  select c.relname in ('event', 'run', 'snapshot', 'blob', 'link_key', 'passage', 'schedule_note', 'checkpoint')
    as is_history
) h
where c.relnamespace = 'cairn'::regnamespace and c.relkind = 'r'
