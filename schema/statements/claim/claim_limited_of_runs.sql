-- As claim_limited.sql, from these runs only. Parameters as in claim_of_runs.sql.
with room (queue, place, free) as materialized (
-- part limited_rooms
), near as materialized (
  select j.shard, j.run_id, j.branch, j.queue, j.priority, j.run_at
  from (select $1::int as shard, n.* from unnest($8::uuid[]) as n (run_id) offset 0) u
  join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id
  where j.queue = any($2::text[]) and j.run_at <= $4::bigint and j.session is null
    and (j.offered or exists (select from cairn.home h where h.shard = j.shard and h.run_id = j.run_id
                                and h.session = $5::bigint))
  order by j.priority, j.run_at, j.run_id, j.branch
  for update of j skip locked
), due as materialized (
  select c.shard, c.run_id, c.branch
  from (select n.*, row_number() over (partition by n.queue order by n.priority, n.run_at, n.run_id, n.branch) as nth
        from near n) c
  join room r on r.queue = c.queue
  where c.nth <= r.free
  order by c.priority, c.run_at, c.run_id, c.branch
  limit $3::int
), taken as (
  update cairn.job j
  set session = $5::bigint, epoch = j.epoch + 1,
      deadline = case
        when j.timeout_ms > 0 then $4::bigint + (least(j.timeout_ms, 1000000000000) + $7::bigint) * 1000
        when $6::bigint > 0 then $4::bigint + (least($6::bigint, 1000000000000) + $7::bigint) * 1000
        else 9223372036854775807 end
  from due
  where j.shard = any (array[due.shard]) and j.run_id = due.run_id and j.branch = due.branch
  returning j.*
), noted as (
  insert into cairn.permit (queue, shard, run_id, branch, epoch)
  select t.queue, t.shard, t.run_id, t.branch, t.epoch from taken t
  on conflict (queue, shard, run_id, branch) do update set epoch = excluded.epoch
)
select t.run_id, t.branch, t.step, t.attempt, t.queue, t.priority, t.run_at, t.timeout_ms, t.session, t.epoch,
  t.deadline
from taken t
