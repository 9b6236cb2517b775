-- Runs that continue one of these, and forks of them; one that does both is returned twice.
select r.run_id, r.graph, r.version, r.status, r.waiting, r.head, r.chain_hash, r.parent, r.continues, r.started_at,
  r.updated_at, r.reason, r.tags::text, r.origin, r.origin_seq, last.cause::text as cause
from (
  (select * from cairn.run where continues = any($1::uuid[]) and continues is not null limit $2::int)
  union all
  (select * from cairn.run where origin = any($1::uuid[]) and origin is not null limit $2::int)
) as r
left join lateral (
  select case when position('\u0000' in e.payload) = 0 then e.payload::jsonb -> 'cause' end as cause
  from cairn.event e
  where e.shard = r.shard and e.run_id = r.run_id and e.seq = r.head and e.type = 7  -- run_finished
) last on r.status in ('failed', 'aborted')
