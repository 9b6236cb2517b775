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
