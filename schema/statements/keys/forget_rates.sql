-- A page of the rates' rows, after the place $1, $2, $3 (queue, key, shard) and $4 at most. Those whose starts were all
-- free again before $5 go: they bind nothing. A row that another transaction has locked stays until the next pass, so
-- that this waits for no one.
with page as materialized (
  select r.ctid as place, r.queue, r.key, r.shard
  from cairn.rate r
  where (r.queue, r.key, r.shard) > ($1::text, $2::text, $3::int)
  order by r.queue, r.key, r.shard
  limit $4::int
), spent as materialized (
  select r.ctid as place
  from cairn.rate r
  where r.ctid = any (array(select p.place from page p)) and r.full_at < $5::bigint
  for update skip locked
), gone as (
  delete from cairn.rate r where r.ctid = any (array(select s.place from spent s))
  returning r.shard
)
select p.queue, p.key, '' as unit, '' as per, p.shard, (select count(*) from page) as looked,
  (select count(*) from gone) as changed
from page p
order by p.queue desc, p.key desc, p.shard desc
limit 1
