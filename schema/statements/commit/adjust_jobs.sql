-- (offset 0: as in lock_runs.sql.)
update cairn.job j
set queue = u.queue, priority = u.priority, run_at = u.run_at, timeout_ms = u.timeout_ms
from (select $1::int as shard, n.*
      from unnest($2::uuid[], $3::int[], $4::text[], $5::int[], $6::bigint[], $7::bigint[])
           as n (run_id, branch, queue, priority, run_at, timeout_ms)
      offset 0) u
where j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch and j.session is null
