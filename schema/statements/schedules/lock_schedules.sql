-- In the order of their names, as every process locks them.
select name, revision, notes, look_at, zone_mark, definition, state
from cairn.schedule
where name = any($1::text[])
order by name
for update
