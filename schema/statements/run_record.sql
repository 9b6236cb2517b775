-- As run.sql, and whether the run's mark as an open child is as its status and parent say.
select run_id, graph, version, status, waiting, head, chain_hash, parent, continues, started_at, updated_at, reason,
  tags::text, origin, origin_seq,
  open_child_of is not distinct from case when status in ('running', 'paused') then parent end
from cairn.run where shard = $1::int and run_id = $2::uuid
