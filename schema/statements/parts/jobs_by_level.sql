-- Due jobs of each queue of `room` by priority, as many as there is room for. The priorities in use are found by
-- hopping along the index.
), level (queue, place, free, priority) as (
  select r.queue, r.place, r.free,
         (select j.priority from cairn.job j
          where j.shard = $1::int and j.queue = r.queue and j.offered
          order by j.priority limit 1)
  from room r where r.free > 0
  union all
  select l.queue, l.place, l.free,
         (select j.priority from cairn.job j
          where j.shard = $1::int and j.queue = l.queue and j.offered and j.priority > l.priority
          order by j.priority limit 1)
  from level l where l.priority is not null
), near as materialized (
  select j.*, l.place, l.free
  from (select * from level where priority is not null order by priority, place) l
  cross join lateral (
    select j.shard, j.run_id, j.branch, j.queue, j.priority, j.run_at
    from cairn.job j
    where j.shard = $1::int and j.queue = l.queue and j.priority = l.priority and j.run_at <= $4::bigint
      and j.offered and j.session is null and j.run_id <> all ($8::uuid[])
    order by j.shard, j.queue, j.priority, j.run_at, j.run_id, j.branch
    limit l.free
    for update skip locked
  ) j
