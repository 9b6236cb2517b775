-- The process that has had a lock on a table or view of ours for longest: its application, seconds in its transaction.
select a.pid, a.application_name,
  coalesce(floor(extract(epoch from clock_timestamp() - a.xact_start)), 0)::bigint
from pg_locks l
join pg_class c on c.oid = l.relation and c.relnamespace = to_regnamespace('cairn') and c.relkind in ('r', 'v')
join pg_stat_activity a on a.pid = l.pid and a.datname = current_database()
where l.granted and a.pid <> pg_backend_pid()
order by a.xact_start
limit 1
