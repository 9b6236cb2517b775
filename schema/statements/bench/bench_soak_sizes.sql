-- The bytes of each table of what is at work, and of each of its indexes: which one grows.
select r.relname::text as name, pg_relation_size(r.oid) as bytes
from pg_class c
join lateral (
  select c.oid, c.relname
  union all
  select i.oid, i.relname from pg_index x join pg_class i on i.oid = x.indexrelid where x.indrelid = c.oid
) r on true
where c.relnamespace = 'cairn'::regnamespace and c.relkind = 'r'
  and c.relname not in ('event', 'run', 'snapshot', 'blob', 'link_key', 'passage', 'schedule_note', 'checkpoint')
order by 1
