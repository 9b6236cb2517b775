select r.run_id, r.graph, r.version, r.status, r.waiting, r.head, r.chain_hash, r.parent, r.continues, r.started_at,
  r.updated_at, r.reason, r.tags::text, r.origin, r.origin_seq, last.cause::text as cause
from cairn.run r
left join lateral (
  select case when position('\u0000' in e.payload) = 0 then e.payload::jsonb -> 'cause' end as cause
  from cairn.event e
  where e.shard = r.shard and e.run_id = r.run_id and e.seq = r.head and e.type = 7  -- run_finished
) last on r.status in ('failed', 'aborted')
where r.shard = $1::int and r.run_id = $2::uuid
