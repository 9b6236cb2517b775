-- As forget_rates.sql, of what was used of budgets: rows of a window that was over at $7 go, and those of a kind of
-- window that this release does not know stay. $1 to $5 queue, key, unit, per, shard; $6 at most.
with page as materialized (
  select b.ctid as place, b.queue, b.key, b.unit, b.per, b.shard
  from cairn.budget_use b
  where (b.queue, b.key, b.unit, b.per, b.shard) > ($1::text, $2::text, $3::text, $4::text, $5::int)
  order by b.queue, b.key, b.unit, b.per, b.shard
  limit $6::int
), spent as materialized (
  select b.ctid as place
  from cairn.budget_use b
  where b.ctid = any (array(select p.place from page p))
    and b.since < case when b.per in ('minute', 'hour', 'day', 'month')
                       then (extract(epoch from date_trunc(b.per, timestamp '1970-01-01'
                                                                  + $7::bigint * interval '1 microsecond'))
                             * 1000000)::bigint end
  for update skip locked
), gone as (
  delete from cairn.budget_use b where b.ctid = any (array(select s.place from spent s))
  returning b.shard
)
select p.queue, p.key, p.unit, p.per, p.shard, (select count(*) from page) as looked,
  (select count(*) from gone) as changed
from page p
order by p.queue desc, p.key desc, p.unit desc, p.per desc, p.shard desc
limit 1
