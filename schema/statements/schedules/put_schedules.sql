update cairn.schedule s
set revision = new.revision, notes = s.notes + new.notes, look_at = new.look_at, zone = new.zone,
  zone_mark = new.zone_mark, definition = new.definition, state = new.state
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[])
  as new (name, revision, notes, look_at, zone, zone_mark, definition, state)
where s.name = new.name
