-- Newest first, only those after ($6, $7) in that order. A null filter does not apply.
select r.run_id, r.graph, r.version, r.status, r.waiting, r.head, r.chain_hash, r.parent, r.continues, r.started_at,
  r.updated_at, r.reason, r.tags::text, r.origin, r.origin_seq, last.cause::text as cause
from cairn.run r
left join lateral (
  select case when position('\u0000' in e.payload) = 0 then e.payload::jsonb -> 'cause' end as cause
  from cairn.event e
  where e.shard = r.shard and e.run_id = r.run_id and e.seq = r.head and e.type = 7  -- run_finished
) last on r.status in ('failed', 'aborted')
where ($1::text is null or r.graph = $1) and ($2::text is null or r.status = $2)
  and ($3::boolean is null or r.waiting = $3) and r.started_at >= $4::bigint
  and (r.started_at, r.run_id) < ($6::bigint, $7::uuid)
  and r.started_at < $8::bigint and ($9::bigint is null or r.updated_at - r.started_at >= $9)
  and ($10::text is null or starts_with(r.version, $10))
  and ($11::text is null or position(lower($11) in lower(r.reason)) > 0)
  and ($12::text is null or last.cause ->> 'error' = $12) and ($13::text is null or last.cause ->> 'node' = $13)
  and ($14::text is null or exists (
    select from cairn.event e
    where e.shard = r.shard and e.run_id = r.run_id and e.type = 111  -- tool_called
      and case when position('\u0000' in e.payload) = 0 then e.payload::jsonb ->> 'tool' end = $14))
order by r.started_at desc, r.run_id desc
limit $5::int
