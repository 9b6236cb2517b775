-- Why a run `r` failed, which its last event says.
left join lateral (
  select case when position('\u0000' in e.payload) = 0 then e.payload::jsonb -> 'cause' end as cause
  from cairn.event e
  where e.shard = r.shard and e.run_id = r.run_id and e.seq = r.head and e.type = 7  -- run_finished
) last on r.status in ('failed', 'aborted')
