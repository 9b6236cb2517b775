select name, revision, notes, look_at, zone_mark, definition, state
from cairn.schedule
where name > $1::text
order by name
limit $2::int
