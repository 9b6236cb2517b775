-- Due jobs of some queues, by priority, then by run_at: the priorities in use are found by hopping along the index,
-- then
-- one bounded scan for each. $1 shard, $2 queues, $3 limit, $4 now, $5 session, $6 default timeout (ms), $7 grace (ms).
with recursive level (queue, place, priority) as (
  select q.queue, q.place,
         (select j.priority from cairn.job j where j.shard = $1::int and j.queue = q.queue order by j.priority limit 1)
  from unnest($2::text[]) with ordinality as q (queue, place)
  union all
  select l.queue, l.place,
         (select j.priority from cairn.job j
          where j.shard = $1::int and j.queue = l.queue and j.priority > l.priority
          order by j.priority limit 1)
  from level l where l.priority is not null
), due as materialized (
  select j.shard, j.run_id, j.branch
  from (select * from level where priority is not null order by priority, place) l
  cross join lateral (
    select j.shard, j.run_id, j.branch
    from cairn.job j
    where j.shard = $1::int and j.queue = l.queue and j.priority = l.priority and j.run_at <= $4::bigint
      and j.session is null
    order by j.shard, j.queue, j.priority, j.run_at, j.run_id, j.branch
    limit $3::int
    for update skip locked
  ) j
  limit $3::int
)
update cairn.job j
set session = $5::bigint, epoch = j.epoch + 1,
    deadline = case
      when j.timeout_ms > 0 then $4::bigint + (least(j.timeout_ms, 1000000000000) + $7::bigint) * 1000
      when $6::bigint > 0 then $4::bigint + (least($6::bigint, 1000000000000) + $7::bigint) * 1000
      else 9223372036854775807 end
from due
where j.shard = due.shard and j.run_id = due.run_id and j.branch = due.branch
returning j.run_id, j.branch, j.step, j.attempt, j.queue, j.priority, j.run_at, j.timeout_ms, j.session, j.epoch,
  j.deadline
