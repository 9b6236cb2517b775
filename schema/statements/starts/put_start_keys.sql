update cairn.start_key k
set numbers = new.numbers, look_at = new.look_at, state = new.state
from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[]) as new (graph, key, numbers, look_at, state)
where k.graph = new.graph and k.key = new.key
