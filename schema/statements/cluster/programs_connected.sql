-- The programs of Cairn that are connected to this database, by the name of their connections, but for those that
-- migrate or distribute it.
select a.application_name as name, count(*) as connections
from pg_stat_activity a
where a.datname = current_database() and a.pid <> pg_backend_pid()
      and a.application_name ~ '\mcairn\M' and a.application_name not in ('cairn migrate', 'cairn distribute')
group by a.application_name
order by a.application_name
