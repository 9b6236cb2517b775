-- The one job that a notification names, if it is due and unowned.
-- $1 shard, $2 run, $3 branch, $4 queues, $5 now, $6 session, $7 default timeout (ms), $8 grace (ms).
update cairn.job j
set session = $6::bigint, epoch = j.epoch + 1,
    deadline = case
      when j.timeout_ms > 0 then $5::bigint + (least(j.timeout_ms, 1000000000000) + $8::bigint) * 1000
      when $7::bigint > 0 then $5::bigint + (least($7::bigint, 1000000000000) + $8::bigint) * 1000
      else 9223372036854775807 end
where j.shard = $1::int and j.run_id = $2::uuid and j.branch = $3::int
      and j.queue = any($4::text[]) and j.run_at <= $5::bigint and j.session is null
      and (j.offered or exists (select from cairn.home h where h.shard = j.shard and h.run_id = j.run_id
                                  and h.session = $6::bigint))
returning j.run_id, j.branch, j.step, j.attempt, j.queue, j.priority, j.run_at, j.timeout_ms, j.session, j.epoch,
  j.deadline
