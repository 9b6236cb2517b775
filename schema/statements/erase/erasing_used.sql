-- Those of the noted values to which an event of the runs after $2, up to $3, refers.
select distinct x.hash
from cairn.event e
cross join lateral regexp_matches(e.payload, '\$blob\\*"\s*:\s*\\*"([0-9A-Fa-f]{64})', 'g') as m (found)
join cairn.erasing x on x.shard = e.shard and x.hash = decode(lower(m.found[1]), 'hex')
where e.shard = $1::int and e.run_id > $2::uuid and e.run_id <= $3::uuid and e.payload like '%$blob%'
