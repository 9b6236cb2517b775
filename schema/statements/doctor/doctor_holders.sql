-- Everything that keeps vacuum from its work or might: open transactions, prepared ones, replication slots.
select 'transaction' as kind, a.pid::text as pid, coalesce(nullif(a.application_name, ''), a.backend_type) as who,
       greatest(coalesce(age(a.backend_xmin), 0), coalesce(age(a.backend_xid), 0))::bigint as transactions,
       coalesce(extract(epoch from clock_timestamp() - a.xact_start), 0)::bigint as seconds
from pg_stat_activity a
where a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
  and (a.xact_start is not null or a.backend_xmin is not null)
union all
select 'prepared', '', p.gid, age(p.transaction)::bigint,
       extract(epoch from clock_timestamp() - p.prepared)::bigint
from pg_prepared_xacts p
union all
select 'slot', coalesce(s.active_pid::text, ''), s.slot_name::text,
       greatest(coalesce(age(s.xmin), 0), coalesce(age(s.catalog_xmin), 0))::bigint, 0
from pg_replication_slots s
where s.xmin is not null or s.catalog_xmin is not null
order by transactions desc, seconds desc
