-- Runs that continue one of these.
select run_id, graph, version, status, waiting, head, chain_hash, parent, continues, started_at, updated_at, reason,
  tags::text
from cairn.run where continues = any($1::uuid[]) and continues is not null
limit $2::int
