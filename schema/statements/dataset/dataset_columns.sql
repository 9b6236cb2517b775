-- The columns that the login may read, of the tables and views of one schema, with what their comments say.
select c.relname, coalesce(obj_description(c.oid, 'pg_class'), ''), a.attname, format_type(a.atttypid, a.atttypmod),
       coalesce(col_description(c.oid, a.attnum), ''),
       exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any (i.indkey))
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = quote_ident(current_schema())::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
  and has_table_privilege(c.oid, 'select')
order by c.relname, a.attnum
