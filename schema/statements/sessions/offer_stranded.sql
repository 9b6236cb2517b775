-- Rows that are free and yet not among the due (look_at_held finds them): their run's home is gone, or a worker of
-- release 9 or older freed them without `offered`, which it does not know. A row that another transaction has locked
-- is left to the next scan, so that this waits for no one.
with stranded as materialized (
  select j.shard, j.run_id, j.branch
  from (select $1::int as shard, n.* from unnest($2::uuid[], $3::int[]) as n (run_id, branch) offset 0) u
  join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
  where j.session is null and not j.offered
  order by j.run_id, j.branch
  for update of j skip locked
)
update cairn.job j
set offered = true, limit_key = (select (
-- part limit_key
       ) from (select j.run_id as run_id, j.queue as queue) k)
from stranded
where j.shard = any (array[stranded.shard]) and j.run_id = stranded.run_id and j.branch = stranded.branch
