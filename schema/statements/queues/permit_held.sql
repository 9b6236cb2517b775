-- After hold_jobs: jobs inserted held in a queue with a concurrency count like claimed ones. $2: their queues, each
-- once.
-- (The lock on the queue's row makes change_limits wait.)
insert into cairn.permit (queue, shard, run_id, branch, epoch, key)
select u.queue, $1::int, u.run_id, u.branch, 1, (select (
-- part limit_key
       ) from (select u.run_id as run_id, u.queue as queue) k)
from (select name from cairn.queue where name = any($2::text[]) and concurrency is not null for key share) q
join unnest($3::uuid[], $4::int[], $5::text[]) as u (run_id, branch, queue) on u.queue = q.name
on conflict (queue, shard, run_id, branch) do update set epoch = excluded.epoch, key = excluded.key
