-- The foreign keys between tables of the schemas on the search path: one row for each pair of columns, the pairs of one
-- key side by side under its number.
select case when pg_table_is_visible(t.oid) and position('.' in t.relname) = 0 then t.relname::text
            else tn.nspname || '.' || t.relname end,
       ta.attname,
       case when pg_table_is_visible(r.oid) and position('.' in r.relname) = 0 then r.relname::text
            else rn.nspname || '.' || r.relname end,
       ra.attname, k.oid::bigint
from pg_constraint k
join pg_class t on t.oid = k.conrelid and not t.relispartition
join pg_namespace tn on tn.oid = t.relnamespace and tn.nspname = any (current_schemas(false))
join pg_class r on r.oid = k.confrelid
join pg_namespace rn on rn.oid = r.relnamespace and rn.nspname = any (current_schemas(false))
cross join lateral unnest(k.conkey, k.confkey) with ordinality as pair(from_column, to_column, place)
join pg_attribute ta on ta.attrelid = t.oid and ta.attnum = pair.from_column
join pg_attribute ra on ra.attrelid = r.oid and ra.attnum = pair.to_column
where k.contype = 'f'
order by 1, k.oid, pair.place
