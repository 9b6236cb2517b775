-- (offset 0: as in lock_runs.sql.)
-- Also of runs that have no row.
select j.run_id, j.branch, j.step, j.attempt, j.queue, j.priority, j.run_at, j.timeout_ms, coalesce(j.session, 0),
  j.epoch, j.deadline,
  j.session is null and not j.offered and not exists (
    select from cairn.home h where h.shard = j.shard and h.run_id = j.run_id)
from (select $1::int as shard, n.* from unnest($2::uuid[]) as n (run_id) offset 0) u
join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id
order by j.run_id, j.branch
