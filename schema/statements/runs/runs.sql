-- Newest first, only those after ($6, $7) in that order. A null filter does not apply.
select run_id, graph, version, status, waiting, head, chain_hash, parent, continues, started_at, updated_at, reason,
  tags::text, origin, origin_seq
from cairn.run
where ($1::text is null or graph = $1) and ($2::text is null or status = $2)
  and ($3::boolean is null or waiting = $3) and started_at >= $4::bigint
  and (started_at, run_id) < ($6::bigint, $7::uuid)
order by started_at desc, run_id desc
limit $5::int
