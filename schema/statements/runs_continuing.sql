-- Runs that continue one of these.
select run_id, graph, version, status, waiting, head, chain_hash, parent, continues, started_at, updated_at, reason, tags::text
from cairn.run where continues = any($1::uuid[])
order by started_at, run_id
limit $2::int
