-- The ids from $1 to $2, in order, at most $4; $3 is the number of shards.
select found.run_id
from generate_series(0, $3::int - 1) as s(shard)
cross join lateral (
  select r.run_id from cairn.run r
  where r.shard = s.shard and r.run_id >= $1::uuid and r.run_id <= $2::uuid
  order by r.run_id
  limit $4::int
) as found
order by found.run_id
limit $4::int
