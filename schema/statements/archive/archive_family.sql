-- A run and all runs that it called (event type 12, child_started), directly or not, and whether each has ended.
with recursive family as (
  select $1::int as shard, $2::uuid as run_id
  union
  select f.shard, (e.payload::jsonb ->> 'child')::uuid
  from family f join cairn.event e on e.shard = f.shard and e.run_id = f.run_id and e.type = 12
)
select f.run_id, r.status in ('done', 'failed', 'aborted')
from family f join cairn.run r on r.shard = f.shard and r.run_id = f.run_id
