-- Ready jobs of the same shard and queue that a claim would take before this one, counted up to $8: true of a queue
-- without keys and without an ageing, which alone goes by priority and time.
select count(*)
from (
  select from cairn.job
  where shard = $1::int and queue = $2::text
    and (priority, run_at, run_id, branch) < ($3::int, $4::bigint, $5::uuid, $6::int)
    and offered and session is null and run_at <= $7::bigint
  limit $8::int
) as earlier
