-- As in lock_runs.sql, the limit is there for the planner.
update cairn.job j
set queue = u.queue, priority = u.priority, run_at = u.run_at
from (select *
      from unnest($2::uuid[], $3::int[], $4::text[], $5::int[], $6::bigint[])
           as n (run_id, branch, queue, priority, run_at)
      limit cardinality($2)) u
where j.shard = $1::int and j.run_id = u.run_id and j.branch = u.branch and j.session is null
