-- (offset 0: as in lock_runs.sql.)
-- A held row stays as it is until release_jobs.
update cairn.job j
set queue = case when j.session is null then u.queue else j.queue end,
    limit_key = case when j.session is null then (select (
-- part limit_key
       ) from (select u.run_id as run_id, u.queue as queue) k) else j.limit_key end,
    priority = case when j.session is null then u.priority else j.priority end,
    run_at = case when j.session is null then u.run_at else j.run_at end,
    timeout_ms = case when j.session is null then u.timeout_ms else j.timeout_ms end,
    on_release = case when j.session is not null then
      jsonb_build_object('step', j.step, 'attempt', j.attempt, 'queue', u.queue, 'priority', u.priority,
                         'timeout_ms', u.timeout_ms) end
from (select $1::int as shard, n.*
      from unnest($2::uuid[], $3::int[], $4::text[], $5::int[], $6::bigint[], $7::bigint[])
           as n (run_id, branch, queue, priority, run_at, timeout_ms)
      offset 0) u
where j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
