-- The last id of a shard that has any row: runs that begin after an audit did mostly come after it.
select known.run_id
from (
  (select e.run_id from cairn.event e where e.shard = $1::int order by e.shard desc, e.run_id desc limit 1)
  union all
  (select r.run_id from cairn.run r where r.shard = $1::int order by r.shard desc, r.run_id desc limit 1)
  union all
  (select j.run_id from cairn.job j where j.shard = $1::int order by j.shard desc, j.run_id desc limit 1)
  union all
  (select q.run_id from cairn.question q where q.shard = $1::int order by q.shard desc, q.run_id desc limit 1)
  union all
  (select s.run_id from cairn.snapshot s where s.shard = $1::int order by s.shard desc, s.run_id desc limit 1)
) known
order by known.run_id desc
limit 1
