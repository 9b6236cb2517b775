-- The columns that the login may read, of the tables and views of the schemas on the search path, with what their
-- comments say and what the catalogue knows of their size. A table that is not found by its bare name, or whose name
-- has a point, is named with its schema.
select case when pg_table_is_visible(c.oid) and position('.' in c.relname) = 0 then c.relname::text
            else n.nspname || '.' || c.relname end,
       coalesce(obj_description(c.oid, 'pg_class'), ''), a.attname, format_type(a.atttypid, a.atttypmod),
       coalesce(col_description(c.oid, a.attnum), ''),
       exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey)),
       exists (select from pg_index i where i.indrelid = c.oid and i.indisunique and i.indnkeyatts = 1
                                        and i.indpred is null and i.indkey[0] = a.attnum),
       exists (select from pg_index i where i.indrelid = c.oid and i.indisvalid and i.indpred is null
                                        and i.indkey[0] = a.attnum),
       case when c.relkind not in ('r', 'm') then -1 when c.reltuples >= 0 then c.reltuples
            else pg_relation_size(c.oid) / 80 end::bigint
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where n.nspname = any (current_schemas(false)) and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
  and has_table_privilege(c.oid, 'select')
order by array_position(current_schemas(false), n.nspname), c.relname, a.attnum
