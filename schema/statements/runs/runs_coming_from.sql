-- Runs that continue one of these, and forks of them; one that does both is returned twice.
select run_id, graph, version, status, waiting, head, chain_hash, parent, continues, started_at, updated_at, reason,
  tags::text, origin, origin_seq
from (
  (select * from cairn.run where continues = any($1::uuid[]) and continues is not null limit $2::int)
  union all
  (select * from cairn.run where origin = any($1::uuid[]) and origin is not null limit $2::int)
) as found
