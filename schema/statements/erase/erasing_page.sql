-- The last run of a page of $3 runs that have events, those after $2.
with recursive logged (run_id, n) as (
  (select e.run_id, 1 from cairn.event e
   where e.shard = $1::int and e.run_id > $2::uuid order by e.shard, e.run_id limit 1)
  union all
  select (select e.run_id from cairn.event e
          where e.shard = $1::int and e.run_id > l.run_id order by e.shard, e.run_id limit 1), l.n + 1
  from logged l
  where l.run_id is not null and l.n < $3::int
)
select run_id from logged where run_id is not null order by run_id desc limit 1
