select run_id, graph, version, status, waiting, head, chain_hash, parent, continues, started_at, updated_at, reason,
  tags::text, origin, origin_seq
from cairn.run where shard = $1::int and run_id = $2::uuid
