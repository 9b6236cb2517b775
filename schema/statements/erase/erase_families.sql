-- The runs $2 and all runs that each of them called (event type 12, child_started), directly or not; each with the
-- run of $2 to which it belongs.
with recursive family as (
  select $1::int as shard, u.run_id as root, u.run_id from unnest($2::uuid[]) as u (run_id)
  union
  select f.shard, f.root, (e.payload::jsonb ->> 'child')::uuid
  from family f join cairn.event e on e.shard = f.shard and e.run_id = f.run_id and e.type = 12
)
select f.root, f.run_id, r.status, r.head, r.chain_hash
from family f join cairn.run r on r.shard = f.shard and r.run_id = f.run_id
order by f.root, f.run_id
