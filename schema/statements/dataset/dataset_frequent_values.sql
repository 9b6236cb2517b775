-- The most common values of the text columns that the login may read, as the server's statistics have them.
select case when pg_table_is_visible(c.oid) and position('.' in c.relname) = 0 then c.relname::text
            else n.nspname || '.' || c.relname end,
       s.attname, common.value
from pg_stats s
join pg_namespace n on n.nspname = s.schemaname and n.nspname = any (current_schemas(false))
join pg_class c on c.relname = s.tablename and c.relnamespace = n.oid
join pg_attribute a on a.attrelid = c.oid and a.attname = s.attname
                   and a.atttypid in ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype, 'name'::regtype)
cross join lateral unnest(s.most_common_vals::text::text[]) as common(value)
where not s.inherited
order by 1, 2, 3
