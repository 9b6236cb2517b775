-- (offset 0: as in lock_runs.sql.)
-- As run.sql, and whether the run's mark as an open child is as its status and parent say.
select r.run_id, r.graph, r.version, r.status, r.waiting, r.head, r.chain_hash, r.parent, r.continues, r.started_at,
  r.updated_at, r.reason, r.tags::text, r.origin, r.origin_seq,
  r.open_child_of is not distinct from case when r.status in ('running', 'paused') then r.parent end
from (select $1::int as shard, n.* from unnest($2::uuid[]) as n (run_id) offset 0) u
join cairn.run r on r.shard = any (array[u.shard]) and r.run_id = u.run_id
