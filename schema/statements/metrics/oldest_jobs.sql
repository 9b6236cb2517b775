-- The run_at of the oldest job of each queue that is due and free. In the index of due jobs, the first free one of each
-- priority is read, so that the cost is the same however many wait. Priorities are found by hopping along the index, at
-- most $2 of a queue in a shard. Held jobs keep their entries there: where $3 of them stand before the first free job,
-- the last of these counts in its place; it is as old or older. Jobs that wait for their run's home have no entry: they
-- are looked up by the home, of each run the first $2 and $3 in all. $1 now.
with recursive level (shard, queue, priority, nth) as (
  (select j.shard, j.queue, j.priority, 1
   from cairn.job j
   where j.offered
   order by j.shard, j.queue, j.priority, j.run_at, j.run_id, j.branch
   limit 1)
  union all
  select n.shard, n.queue, n.priority, case when n.shard = l.shard and n.queue = l.queue then l.nth + 1 else 1 end
  from level l
  cross join lateral (
    select j.shard, j.queue, j.priority
    from cairn.job j
    where j.offered and (j.shard, j.queue, j.priority) >
                        (l.shard, l.queue, case when l.nth < $2::int then l.priority else 2147483647 end)
    order by j.shard, j.queue, j.priority, j.run_at, j.run_id, j.branch
    limit 1
  ) n
), oldest as materialized (
  select l.queue, coalesce(
    (select e.run_at
     from (select j.run_at, j.session
           from cairn.job j
           where j.shard = l.shard and j.queue = l.queue and j.priority = l.priority and j.run_at <= $1::bigint
             and j.offered
           order by j.shard, j.queue, j.priority, j.run_at, j.run_id, j.branch
           limit $3::int) e
     where e.session is null
     limit 1),
    (select j.run_at
     from cairn.job j
     where j.shard = l.shard and j.queue = l.queue and j.priority = l.priority and j.run_at <= $1::bigint and j.offered
     order by j.shard, j.queue, j.priority, j.run_at, j.run_id, j.branch
     offset $3::int - 1 limit 1)) as run_at
  from level l
), at_home as materialized (
  select j.queue, j.run_at, j.session, j.offered
  from (select h.shard, h.run_id from cairn.home h order by h.shard, h.run_id limit $3::int) h
  cross join lateral (
    select j.queue, j.run_at, j.session, j.offered
    from cairn.job j
    where j.shard = h.shard and j.run_id = h.run_id
    order by j.shard, j.run_id, j.branch
    limit $2::int
  ) j
  limit $3::int
)
select o.queue, min(o.run_at)
from (
  select a.queue, a.run_at from oldest a where a.run_at is not null
  union all
  select h.queue, h.run_at from at_home h where h.session is null and not h.offered and h.run_at <= $1::bigint
) o
group by o.queue
