-- (offset 0: as in lock_runs.sql.)
-- A held row moves on to its next step or attempt: nothing indexed changes. Unless $11 rows are held as the fences say,
-- selects 1 / 0 and so fails (22012) with the whole transaction.
with kept as (
  update cairn.job j
  set step = u.step, attempt = u.attempt, timeout_ms = u.timeout_ms, deadline = u.deadline
  from (select $1::int as shard, n.*
        from unnest($2::uuid[], $3::int[], $4::int[], $5::int[], $6::bigint[], $7::bigint[], $8::bigint[],
                    $9::bigint[], $10::int[])
             as n (run_id, branch, step, attempt, timeout_ms, deadline, session, epoch, held_step)
        offset 0) u
  where j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
        and j.session = u.session and j.epoch = u.epoch and j.step = u.held_step
  returning true
)
select 1 / (count(*) = $11::bigint)::int from kept
