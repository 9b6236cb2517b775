-- Due jobs by priority, then by run_at. For the priorities known to this process the scan starts at their low-water
-- marks, so that held and dead index entries in front are not walked again. Unknown priorities are found by hopping
-- along the index, at most $14 of them in each gap between known ones. Each priority has one bounded scan.
-- $1 shard, $2 limit, $3 now, $4 session, $5 default timeout (ms), $6 grace (ms),
-- $7..$10 marks (queue, priority, run_at, run_id), $11..$13 gaps (queue, above, below), $15 runs that are passed by.
with recursive gap (queue, below, place, hops, priority) as (
  select g.queue, g.below, g.place, 1,
         (select j.priority from cairn.job j
          where j.shard = $1::int and j.queue = g.queue and j.offered and j.priority > g.above and j.priority < g.below
          order by j.priority limit 1)
  from unnest($11::text[], $12::bigint[], $13::bigint[]) with ordinality as g (queue, above, below, place)
  union all
  select g.queue, g.below, g.place, g.hops + 1,
         (select j.priority from cairn.job j
          where j.shard = $1::int and j.queue = g.queue and j.offered and j.priority > g.priority
            and j.priority < g.below
          order by j.priority limit 1)
  from gap g where g.priority is not null and g.hops < $14::int
), level (queue, priority, run_at, run_id, place) as (
  select m.queue, m.priority, m.run_at, m.run_id, m.place
  from unnest($7::text[], $8::int[], $9::bigint[], $10::uuid[]) with ordinality
       as m (queue, priority, run_at, run_id, place)
  union all
  select g.queue, g.priority, -9223372036854775808, '00000000-0000-0000-0000-000000000000'::uuid, g.place
  from gap g where g.priority is not null
), due as materialized (
  select j.shard, j.run_id, j.branch
  from (select * from level order by priority, place) l
  cross join lateral (
    select j.shard, j.run_id, j.branch
    from cairn.job j
    where j.shard = $1::int and j.queue = l.queue and j.priority = l.priority and j.run_at <= $3::bigint
      and (j.run_at, j.run_id) >= (l.run_at, l.run_id) and j.offered and j.session is null
      and j.run_id <> all ($15::uuid[])
    order by j.shard, j.queue, j.priority, j.run_at, j.run_id, j.branch
    limit $2::int
    for update skip locked
  ) j
  limit $2::int
)
update cairn.job j
set session = $4::bigint, epoch = j.epoch + 1,
    deadline = case
      when j.timeout_ms > 0 then $3::bigint + (least(j.timeout_ms, 1000000000000) + $6::bigint) * 1000
      when $5::bigint > 0 then $3::bigint + (least($5::bigint, 1000000000000) + $6::bigint) * 1000
      else 9223372036854775807 end
from due
where j.shard = any (array[due.shard]) and j.run_id = due.run_id and j.branch = due.branch
returning j.run_id, j.branch, j.step, j.attempt, j.queue, j.priority, j.run_at, j.timeout_ms, j.session, j.epoch,
  j.deadline
