-- Unowned rows with a new epoch: one more than the row had, or the given one for a new row. They are offered to all,
-- unless the run has a home that serves the queue: that session claims them (claim_of_runs).
insert into cairn.job as j (shard, run_id, branch, step, attempt, priority, run_at, session, epoch, deadline,
  timeout_ms, queue, offered, limit_key)
select $1::int, u.run_id, u.branch, u.step, u.attempt, u.priority, u.run_at, null, u.epoch, 9223372036854775807,
       u.timeout_ms, u.queue,
       not exists (select from cairn.home h
                   where h.shard = $1::int and h.run_id = u.run_id and u.queue = any (h.queues)),
       (select (
-- part limit_key
       ) from (select u.run_id as run_id, u.queue as queue) k)
from unnest($2::uuid[], $3::int[], $4::int[], $5::int[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[],
  $10::text[])
     as u (run_id, branch, step, attempt, priority, run_at, epoch, timeout_ms, queue)
on conflict (shard, run_id, branch) do update
set step = excluded.step, attempt = excluded.attempt, priority = excluded.priority, run_at = excluded.run_at,
    session = null, epoch = j.epoch + 1, deadline = excluded.deadline, timeout_ms = excluded.timeout_ms,
    queue = excluded.queue, offered = excluded.offered, limit_key = excluded.limit_key,
    on_release = null
