-- The rights of a worker that this login lacks: '' if it may all of it.
select coalesce(string_agg(w.privilege || ' on ' || w.name, ', ' order by w.name, w.privilege), '')
from (values ('event', 'insert'), ('run', 'update'), ('job', 'update'), ('worker', 'insert'),
             ('question', 'insert'), ('blob', 'insert'), ('snapshot', 'insert'),
             ('home', 'insert'), ('progress', 'insert'), ('feed', 'insert'),
             ('rate', 'insert'), ('key_turn', 'insert'), ('schedule', 'update'), ('schedule_note', 'insert'),
             ('hook', 'update'), ('hook_delivery', 'update'), ('hook_note', 'insert')) as w (name, privilege)
where not has_table_privilege('cairn.' || w.name, w.privilege)
