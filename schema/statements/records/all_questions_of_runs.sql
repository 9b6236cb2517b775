-- (offset 0: as in lock_runs.sql.)
select q.run_id, q.id, q.step, q.kind, q.prompt, q.schema, q.fallback, q.expires_at, q.asked_at
from (select $1::int as shard, n.* from unnest($2::uuid[]) as n (run_id) offset 0) u
join cairn.question q on q.shard = any (array[u.shard]) and q.run_id = u.run_id
order by q.run_id, q.id
