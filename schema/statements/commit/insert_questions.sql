insert into cairn.question (shard, run_id, id, step, asked_at, expires_at, kind, prompt, schema, fallback)
select $1::int, u.run_id, u.id, u.step, u.asked_at, u.expires_at, u.kind, u.prompt, u.schema, u.fallback
from unnest($2::uuid[], $3::text[], $4::int[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[],
  $10::text[])
     as u (run_id, id, step, asked_at, expires_at, kind, prompt, schema, fallback)
on conflict (shard, run_id, id) do update
set step = excluded.step, asked_at = excluded.asked_at, expires_at = excluded.expires_at, kind = excluded.kind,
    prompt = excluded.prompt, schema = excluded.schema, fallback = excluded.fallback
