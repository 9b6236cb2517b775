-- After hold_jobs: jobs born held in a queue with a limit are counted like claimed ones. (The lock on the queue's row
-- makes set_queue wait.)
insert into cairn.permit (queue, shard, run_id, branch, epoch)
select u.queue, $1::int, u.run_id, u.branch, 1
from unnest($2::uuid[], $3::int[], $4::text[]) as u (run_id, branch, queue)
join cairn.queue q on q.name = u.queue
where q.concurrency is not null
for key share of q
on conflict (queue, shard, run_id, branch) do update set epoch = excluded.epoch
