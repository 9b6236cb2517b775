-- A slice of a shard's open children, in the order of their parents, after a parent. The cost depends on its length,
-- not on how many runs there are.
select c.run_id, c.open_child_of, p.has_ended
from (
  select open_child_of, run_id
  from cairn.run
  where shard = $1::int and open_child_of is not null and open_child_of > $2::uuid
  order by open_child_of
  limit $3::int
) c
cross join lateral (
  select r.status not in ('running', 'paused') as has_ended
  from cairn.run r
  where r.shard = $1::int and r.run_id = c.open_child_of offset 0
) p
