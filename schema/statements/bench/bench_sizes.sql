-- The bytes of the tables that grow with what is kept, and of their indexes.
select c.relname, pg_relation_size(c.oid) as size
from pg_class c
where c.relnamespace = 'cairn'::regnamespace and c.relkind in ('r', 'i')
  and (c.relname like 'event%' or c.relname like 'run%')
order by c.relname
