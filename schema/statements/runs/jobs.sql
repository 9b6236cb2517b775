select j.run_id, j.branch, j.step, j.attempt, j.queue, j.priority, j.run_at, j.timeout_ms, coalesce(j.session, 0),
  j.epoch, j.deadline, r.head,
  case when j.session is null and not j.offered then
    (select h.session from cairn.home h where h.shard = j.shard and h.run_id = j.run_id) end as home
from cairn.job j join cairn.run r on r.shard = j.shard and r.run_id = j.run_id
where j.shard = $1::int and j.run_id = $2::uuid
order by j.branch
