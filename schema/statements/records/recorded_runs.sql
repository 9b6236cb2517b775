-- The next ids of a shard that have any row, in order, so that a history whose run row is gone is found too. The log is
-- walked from id to id, because a run may have very many events.
with recursive logged (run_id, n) as (
  (select e.run_id, 1 from cairn.event e
   where e.shard = $1::int and e.run_id > $2::uuid order by e.shard, e.run_id limit 1)
  union all
  select (select e.run_id from cairn.event e
          where e.shard = $1::int and e.run_id > l.run_id order by e.shard, e.run_id limit 1), l.n + 1
  from logged l
  where l.run_id is not null and l.n < $3::int
)
select known.run_id
from (
  select l.run_id from logged l where l.run_id is not null
  union
  (select r.run_id from cairn.run r where r.shard = $1::int and r.run_id > $2::uuid order by r.shard, r.run_id
   limit $3::int)
  union
  (select distinct j.run_id from cairn.job j where j.shard = $1::int and j.run_id > $2::uuid order by j.run_id
   limit $3::int)
  union
  (select distinct q.run_id from cairn.question q where q.shard = $1::int and q.run_id > $2::uuid order by q.run_id
   limit $3::int)
  union
  (select distinct s.run_id from cairn.snapshot s where s.shard = $1::int and s.run_id > $2::uuid order by s.run_id
   limit $3::int)
) known
order by known.run_id
limit $3::int
