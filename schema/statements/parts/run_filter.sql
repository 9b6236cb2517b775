-- The filter of a run `r`: a null value in it does not apply.
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
  and ($15::text is null or (r.tags @> $15::text::jsonb and r.tags <> '{}'))
