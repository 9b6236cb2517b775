-- Held jobs of one session, past their deadline, or of a session without a row; and jobs that are free but not offered,
-- although their run has no home.
-- Reads all jobs once, and only the runs of those found. A job whose run has lost its row is left to `rebuild`.
select j.run_id, j.branch, j.step, j.attempt, j.queue, j.priority, j.run_at, j.timeout_ms,
  coalesce(j.session, 0), j.epoch, j.deadline, r.head, j.session is not null and w.session is null as is_unowned,
  j.session is null as is_stranded
from cairn.job j
left join cairn.worker w on w.session = j.session
cross join lateral (
  select r.head from cairn.run r where r.shard = j.shard and r.run_id = j.run_id offset 0
) r
where (j.session is not null or not j.offered)
      and (j.session is not null or not exists (
             select from cairn.home h join cairn.worker s on s.session = h.session
             where h.shard = j.shard and h.run_id = j.run_id))
      and (j.session is null or j.session = $1::bigint or j.deadline < $2::bigint or w.session is null)
limit $3::int
