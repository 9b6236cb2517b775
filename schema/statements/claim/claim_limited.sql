-- After lock_queues and retire_permits: due jobs by priority, then by run_at, from each queue no more than its
-- concurrency leaves free, and from a paused one nothing.
-- $1 shard, $2 queues, $3 limit, $4 now, $5 session, $6 default timeout (ms), $7 grace (ms),
-- $8 runs that are passed by.
with recursive room (queue, place, free) as materialized (
-- part limited_rooms
-- part jobs_by_level
), due as materialized (
  select c.shard, c.run_id, c.branch
  from (select n.*, row_number() over (partition by n.queue order by n.priority, n.run_at, n.run_id, n.branch) as nth
        from near n) c
  where c.nth <= c.free
  order by c.priority, c.place, c.nth
  limit $3::int
), taken as (
-- part taken_jobs
), noted as (
-- part taken_permits
)
select t.run_id, t.branch, t.step, t.attempt, t.queue, t.priority, t.run_at, t.timeout_ms, t.session, t.epoch,
  t.deadline
from taken t
