-- The runs are one part ($3) of as many as $4.
select j.run_id, j.branch, j.step, j.attempt, j.queue, j.priority, j.run_at, j.timeout_ms, coalesce(j.session, 0),
  j.epoch, j.deadline, r.head
from cairn.job j join cairn.run r on r.shard = j.shard and r.run_id = j.run_id
where j.session = $1::bigint and (uuid_hash(j.run_id) & 2147483647) % $4::int = $3::int
limit $2::int
