-- Rights on events that this login has itself, as a superuser or an owner does; '': none.
select coalesce(string_agg(p.privilege, ', ' order by p.privilege), '')
from (values ('delete'), ('truncate'), ('update')) as p (privilege)
where has_table_privilege('cairn.event', p.privilege)
