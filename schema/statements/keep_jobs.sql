-- (offset 0: as in lock_runs.sql.)
-- A held row moves on to its next step or attempt: nothing indexed changes.
update cairn.job j
set step = u.step, attempt = u.attempt, timeout_ms = u.timeout_ms, deadline = u.deadline
from (select $1::int as shard, n.*
      from unnest($2::uuid[], $3::int[], $4::int[], $5::int[], $6::bigint[], $7::bigint[])
           as n (run_id, branch, step, attempt, timeout_ms, deadline)
      offset 0) u
where j.shard = u.shard and j.run_id = u.run_id and j.branch = u.branch
