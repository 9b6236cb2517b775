-- As runs.sql, those that run $17 of shard $16 called, as its events have them. A called run is of its caller's shard.
with called as materialized (
  select child.*
  from (
    select distinct (e.payload::jsonb ->> 'child')::uuid as run_id
    from cairn.event e
    where e.shard = $16::int and e.run_id = $17::uuid and e.type = 12  -- child_started
  ) as started
  cross join lateral (
    select * from cairn.run
    where shard = $16::int and run_id = started.run_id
    limit 1
  ) as child
  where child.parent = $17::uuid
)
-- part run_columns
from called r
-- part run_cause
-- part run_filter
order by r.started_at desc, r.run_id desc
limit $5::int
