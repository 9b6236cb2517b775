-- (offset 0: as in lock_runs.sql.)
-- Due jobs of these runs only. Parameters as in claim_limited.sql, $8 the runs, and $9 how many of each run's free
-- jobs, by their branches, are put in order: a commit that claims leaves a wide run's others to later ones, so that it
-- costs the same however many wait. Null: all. A commit that claims sends no begin_claim before it: nothing is taken of
-- a limited queue here either, and change_limits waits.
with bound as materialized (
  select q.name
  from cairn.queue q
  where q.name = any ($2::text[]) and (q.concurrency is not null or q.paused or q.limits is not null)
  for no key update
), near as materialized (
  select j.shard, j.run_id, j.branch, j.priority, j.run_at
  from (select $1::int as shard, n.* from unnest($8::uuid[]) as n (run_id) offset 0) u
  cross join lateral (
    select j.shard, j.run_id, j.branch, j.priority, j.run_at
    from cairn.job j
    where j.shard = any (array[u.shard]) and j.run_id = u.run_id
      and j.queue = any($2::text[]) and j.run_at <= $4::bigint and j.session is null
      and (j.offered or exists (select from cairn.home h where h.shard = j.shard and h.run_id = j.run_id
                                  and h.session = $5::bigint))
      and j.queue <> all (array(select b.name from bound b))
    order by j.shard, j.run_id, j.branch
    limit $9::bigint
  ) j
), due as materialized (
  select j.shard, j.run_id, j.branch
  from (select * from near order by priority, run_at, run_id, branch) n
  cross join lateral (
    select j.shard, j.run_id, j.branch
    from cairn.job j
    where j.shard = any (array[n.shard]) and j.run_id = n.run_id and j.branch = n.branch
      and j.queue = any($2::text[]) and j.run_at <= $4::bigint and j.session is null
      and (j.offered or exists (select from cairn.home h where h.shard = j.shard and h.run_id = j.run_id
                                  and h.session = $5::bigint))
      and j.queue <> all (array(select b.name from bound b))
    for update of j skip locked
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
where j.shard = any (array[due.shard]) and j.run_id = due.run_id and j.branch = due.branch
returning j.run_id, j.branch, j.step, j.attempt, j.queue, j.priority, j.run_at, j.timeout_ms, j.session, j.epoch,
  j.deadline
