-- After lock_queues and retire_permits: due jobs by priority, then by run_at, from each queue no more than its
-- concurrency leaves free, and from a paused one nothing. The priorities in use are found by hopping along the index.
-- $1 shard, $2 queues, $3 limit, $4 now, $5 session, $6 default timeout (ms), $7 grace (ms),
-- $8 runs that are passed by.
with recursive room (queue, place, free) as materialized (
-- part limited_rooms
), level (queue, place, free, priority) as (
  select r.queue, r.place, r.free,
         (select j.priority from cairn.job j
          where j.shard = $1::int and j.queue = r.queue and j.offered
          order by j.priority limit 1)
  from room r where r.free > 0
  union all
  select l.queue, l.place, l.free,
         (select j.priority from cairn.job j
          where j.shard = $1::int and j.queue = l.queue and j.offered and j.priority > l.priority
          order by j.priority limit 1)
  from level l where l.priority is not null
), near as materialized (
  select j.*, l.place, l.free
  from (select * from level where priority is not null order by priority, place) l
  cross join lateral (
    select j.shard, j.run_id, j.branch, j.queue, j.priority, j.run_at
    from cairn.job j
    where j.shard = $1::int and j.queue = l.queue and j.priority = l.priority and j.run_at <= $4::bigint
      and j.offered and j.session is null and j.run_id <> all ($8::uuid[])
    order by j.shard, j.queue, j.priority, j.run_at, j.run_id, j.branch
    limit l.free
    for update skip locked
  ) j
), due as materialized (
  select c.shard, c.run_id, c.branch
  from (select n.*, row_number() over (partition by n.queue order by n.priority, n.run_at, n.run_id, n.branch) as nth
        from near n) c
  where c.nth <= c.free
  order by c.priority, c.place, c.nth
  limit $3::int
), taken as (
  update cairn.job j
  set session = $5::bigint, epoch = j.epoch + 1,
      deadline = case
        when j.timeout_ms > 0 then $4::bigint + (least(j.timeout_ms, 1000000000000) + $7::bigint) * 1000
        when $6::bigint > 0 then $4::bigint + (least($6::bigint, 1000000000000) + $7::bigint) * 1000
        else 9223372036854775807 end
  from due
  where j.shard = any (array[due.shard]) and j.run_id = due.run_id and j.branch = due.branch
  returning j.*
), noted as (
  insert into cairn.permit (queue, shard, run_id, branch, epoch)
  select t.queue, t.shard, t.run_id, t.branch, t.epoch from taken t
  on conflict (queue, shard, run_id, branch) do update set epoch = excluded.epoch
)
select t.run_id, t.branch, t.step, t.attempt, t.queue, t.priority, t.run_at, t.timeout_ms, t.session, t.epoch,
  t.deadline
from taken t
