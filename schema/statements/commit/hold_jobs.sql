-- New rows, held from the start with epoch 1; no claim finds them until they are unowned for the first time.
insert into cairn.job (shard, run_id, branch, step, attempt, priority, run_at, session, epoch, deadline, timeout_ms,
  queue, offered)
select $1::int, u.run_id, u.branch, u.step, u.attempt, u.priority, u.run_at, u.session, 1, u.deadline, u.timeout_ms,
  u.queue, false
from unnest($2::uuid[], $3::int[], $4::int[], $5::int[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[],
  $10::bigint[],
            $11::text[])
     as u (run_id, branch, step, attempt, priority, run_at, session, deadline, timeout_ms, queue)
