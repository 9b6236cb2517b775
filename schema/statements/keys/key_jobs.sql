-- The keys of a queue's unowned jobs in a shard, as its limits name them now: of a portion of $8 jobs in the order of
-- claims, those after ($4, $5, $6, $7). If $3, of those alone that have none: a worker of an earlier release offered
-- them, or the process that changed the limits died. A row that another transaction has locked is passed by: the commit
-- that offers a job and the release of a hold give it its key. The jobs that only their runs' homes may claim come with
-- the first portion. Returns the last job of the portion, and how many were found. $1 shard, $2 queue.
with near as materialized (
  select j.shard, j.run_id, j.branch, j.priority, j.run_at
  from cairn.job j
  where j.shard = $1::int and j.queue = $2::text and j.offered
    and (j.priority, j.run_at, j.run_id, j.branch) > ($4::int, $5::bigint, $6::uuid, $7::int)
  order by j.shard, j.queue, j.priority, j.run_at, j.run_id, j.branch
  limit $8::int
), at_home as materialized (
  select j.shard, j.run_id, j.branch
  from (select h.shard, h.run_id from cairn.home h
        where h.shard = $1::int and $6::uuid = '00000000-0000-0000-0000-000000000000' offset 0) h
  join cairn.job j on j.shard = any (array[h.shard]) and j.run_id = h.run_id
  where j.queue = $2::text and not j.offered
), found as materialized (
  select j.shard, j.run_id, j.branch, (select (
-- part limit_key
       ) from (select j.run_id as run_id, j.queue as queue) k) as key
  from (select n.shard, n.run_id, n.branch from near n union all select h.shard, h.run_id, h.branch from at_home h) n
  join cairn.job j on j.shard = any (array[n.shard]) and j.run_id = n.run_id and j.branch = n.branch
  where j.session is null and (j.limit_key is null or not $3::boolean)
  for update of j skip locked
), keyed as (
  update cairn.job j
  set limit_key = f.key
  from found f
  where j.shard = any (array[f.shard]) and j.run_id = f.run_id and j.branch = f.branch
    and j.limit_key is distinct from f.key
)
select n.priority, n.run_at, n.run_id, n.branch, count(*) over () < $8::int as is_last,
  (select count(*) from found) as found
from near n
order by n.priority desc, n.run_at desc, n.run_id desc, n.branch desc
limit 1
