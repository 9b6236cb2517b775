-- The columns of tables that the view cairn_measured reads, as the server has parsed it; "": it reads rows alone.
select distinct c.relname, coalesce(a.attname, '')
from pg_class v
join pg_rewrite w on w.ev_class = v.oid
join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
join pg_class c on c.oid = d.refobjid and c.oid <> v.oid
left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid and d.refobjsubid > 0
where v.relname = 'cairn_measured'
order by 1, 2
