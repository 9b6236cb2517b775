-- The large values to which the events of runs refer. A text that only looks like a reference does no harm.
insert into cairn.erasing (shard, hash)
select distinct e.shard, decode(lower(m.found[1]), 'hex')
from cairn.event e
cross join lateral regexp_matches(e.payload, '\$blob\\*"\s*:\s*\\*"([0-9A-Fa-f]{64})', 'g') as m (found)
where e.shard = $1::int and e.run_id = any($2::uuid[]) and e.payload like '%$blob%'
on conflict (shard, hash) do nothing
