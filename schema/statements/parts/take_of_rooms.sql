-- The rest of a claim with given rooms after `near`: the first jobs of each queue by its ageing, permits, the rate.
), aged as (
  select n.*,
    case when r.ageing > 0
         then greatest(least(n.priority, 1000), -1000) - ($4::bigint - n.run_at) / r.ageing
         else n.priority end as level,
    case when r.ageing > 0
         then n.run_at + greatest(least(n.priority, 1000), -1000) * r.ageing else 0 end as rank
  from near n join room r on r.queue = n.queue
), due as materialized (
  select c.shard, c.run_id, c.branch
  from (select a.*, row_number() over (partition by a.queue
                                       order by a.rank, a.priority, a.run_at, a.run_id, a.branch) as nth
        from aged a) c
  join room r on r.queue = c.queue
  where c.nth <= r.free
  order by c.level, r.place, c.nth
  limit $3::int
), taken as (
-- part taken_jobs
), noted as (
  insert into cairn.permit (queue, shard, run_id, branch, epoch)
  select t.queue, t.shard, t.run_id, t.branch, t.epoch from taken t join room r on r.queue = t.queue
  where r.is_counted
  on conflict (queue, shard, run_id, branch) do update set epoch = excluded.epoch
), spent as (
  insert into cairn.rate (shard, queue, key, full_at, at)
  select $1::int, r.queue, '', r.full_at + r.pace * count(*), $14::bigint
  from taken t join room r on r.queue = t.queue
  where r.pace > 0
  group by r.queue, r.full_at, r.pace
  on conflict (queue, key, shard) do update set full_at = excluded.full_at, at = excluded.at
)
select t.run_id, t.branch, t.step, t.attempt, t.queue, t.priority, t.run_at, t.timeout_ms, t.session, t.epoch,
  t.deadline
from taken t
