-- As claim_limited.sql, from these runs only. Parameters as in claim_of_runs.sql.
with room (queue, place, free) as materialized (
-- part limited_rooms
), near as materialized (
-- part jobs_of_runs
), due as materialized (
  select c.shard, c.run_id, c.branch
  from (select n.*, row_number() over (partition by n.queue order by n.priority, n.run_at, n.run_id, n.branch) as nth
        from near n) c
  join room r on r.queue = c.queue
  where c.nth <= r.free
  order by c.priority, c.run_at, c.run_id, c.branch
  limit $3::int
), taken as (
-- part taken_jobs
), noted as (
-- part taken_permits
)
select t.run_id, t.branch, t.step, t.attempt, t.queue, t.priority, t.run_at, t.timeout_ms, t.session, t.epoch,
  t.deadline
from taken t
