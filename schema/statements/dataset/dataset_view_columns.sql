-- The columns of tables that the view cairn_measured reads, as the server has parsed it.
select distinct c.relname, a.attname
from pg_class v
join pg_rewrite w on w.ev_class = v.oid
join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
join pg_class c on c.oid = d.refobjid and c.oid <> v.oid
join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
where v.relname = 'cairn_measured' and d.refobjsubid > 0
order by 1, 2
