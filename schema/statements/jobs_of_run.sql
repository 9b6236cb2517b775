-- Also of a run that has no row.
select run_id, branch, step, attempt, queue, priority, run_at, timeout_ms, coalesce(session, 0), epoch, deadline
from cairn.job
where shard = $1::int and run_id = $2::uuid
order by branch
