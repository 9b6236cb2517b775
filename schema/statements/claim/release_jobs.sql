-- (offset 0: as in lock_runs.sql.)
-- After lock_runs. Rows still held as the fences say become unowned, with a new epoch, adjusted as adjust_jobs wanted
-- while they were held; those of a paused run are never due. A row each.
with held as materialized (
  select j.shard, j.run_id, j.branch,
         case when (j.on_release->>'step')::int = j.step and (j.on_release->>'attempt')::int = j.attempt
              then j.on_release end as adjusted
  from (select $1::int as shard, n.*
        from unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::int[])
             as n (run_id, branch, session, epoch, step)
        offset 0) u
  join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
  where j.session = u.session and j.epoch = u.epoch and j.step = u.step
  order by j.run_id, j.branch
  for update of j
)
update cairn.job j
set session = null, offered = true, epoch = j.epoch + 1, deadline = 9223372036854775807,
    run_at = case
      when (select r.status from cairn.run r where r.shard = $1::int and r.run_id = j.run_id) = 'paused'
      then 9223372036854775807 else $7::bigint end,
    queue = coalesce(held.adjusted->>'queue', j.queue),
    limit_key = (select (
-- part limit_key
       ) from (select j.run_id as run_id, coalesce(held.adjusted->>'queue', j.queue) as queue) k),
    priority = coalesce((held.adjusted->>'priority')::int, j.priority),
    timeout_ms = coalesce((held.adjusted->>'timeout_ms')::bigint, j.timeout_ms), on_release = null
from held
where j.shard = any (array[held.shard]) and j.run_id = held.run_id and j.branch = held.branch
returning j.branch
