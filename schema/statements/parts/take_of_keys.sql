-- The rest of a claim from a queue with keys after `near`.
), due as materialized (
  select c.shard, c.run_id, c.branch
  from (select n.*, row_number() over (
          partition by n.limit_key
          order by case when $15::bigint > 0
                        then n.run_at + greatest(least(n.priority, 1000), -1000) * $15::bigint else 0 end,
                   n.priority, n.run_at, n.run_id, n.branch) as nth
        from near n) c
  join share s on s.key = c.limit_key
  where c.nth <= s.count
  limit $3::int
), taken as (
-- part taken_jobs
), noted as (
  insert into cairn.permit (queue, shard, run_id, branch, epoch, key)
  select t.queue, t.shard, t.run_id, t.branch, t.epoch, t.limit_key from taken t
  where $16::boolean
  on conflict (queue, shard, run_id, branch) do update set epoch = excluded.epoch, key = excluded.key
), spent as (
  insert into cairn.rate (shard, queue, key, full_at, at)
  select $1::int, $2::text, '=' || s.key, s.full_at + $12::bigint * count(*), $17::bigint
  from taken t join share s on s.key = t.limit_key
  where $12::bigint > 0
  group by s.key, s.full_at
  union all
  select $1::int, $2::text, '', $13::bigint + $14::bigint * count(*), $17::bigint
  from taken t
  where $14::bigint > 0
  having count(*) > 0
  on conflict (queue, key, shard) do update set full_at = excluded.full_at, at = excluded.at
), turned as (
  insert into cairn.key_turn (shard, queue, key, served)
  values ($1::int, $2::text, $18::text, $19::bigint)
  on conflict (queue, shard) do update set key = excluded.key, served = excluded.served
)
select t.run_id, t.branch, t.step, t.attempt, t.queue, t.priority, t.run_at, t.timeout_ms, t.session, t.epoch,
  t.deadline, t.limit_key
from taken t
