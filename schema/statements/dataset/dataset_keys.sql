-- The foreign keys of one column between tables of one schema: from where to where.
select t.relname, ta.attname, r.relname, ra.attname
from pg_constraint k
join pg_class t on t.oid = k.conrelid
join pg_class r on r.oid = k.confrelid and r.relnamespace = t.relnamespace
join pg_attribute ta on ta.attrelid = t.oid and ta.attnum = k.conkey[1]
join pg_attribute ra on ra.attrelid = r.oid and ra.attnum = k.confkey[1]
where k.contype = 'f' and cardinality(k.conkey) = 1 and t.relnamespace = quote_ident(current_schema())::regnamespace
order by 1, 2
