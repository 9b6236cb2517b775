-- As forget_rates.sql, of turns: one whose key has no job that is offered goes on to the next key in the order of the
-- ring that has one, as the next claim would do, and goes itself where no key has any. $1, $2 queue and shard; $3 at
-- most.
with page as materialized (
  select t.ctid as place, t.queue, t.shard, t.key
  from cairn.key_turn t
  where (t.queue, t.shard) > ($1::text, $2::int)
  order by t.queue, t.shard
  limit $3::int
), ring as materialized (
  select p.place, p.key, coalesce(
      (select j.limit_key from cairn.job j
       where j.shard = p.shard and j.queue = p.queue and j.limit_key >= p.key and j.offered
       order by j.limit_key limit 1),
      (select j.limit_key from cairn.job j
       where j.shard = p.shard and j.queue = p.queue and j.limit_key >= '' and j.offered
       order by j.limit_key limit 1)) as next
  from page p
), passed as materialized (
  select t.ctid as place, r.next
  from ring r
  join cairn.key_turn t on t.ctid = r.place and t.key = r.key
  where r.next is distinct from r.key
  for update of t skip locked
), moved as (
  update cairn.key_turn t set key = s.next, served = 0
  from passed s
  where t.ctid = s.place and s.next is not null
  returning t.shard
), gone as (
  delete from cairn.key_turn t using passed s
  where t.ctid = s.place and s.next is null
  returning t.shard
)
select p.queue, '' as key, '' as unit, '' as per, p.shard, (select count(*) from page) as looked,
  (select count(*) from moved) + (select count(*) from gone) as changed
from page p
order by p.queue desc, p.shard desc
limit 1
