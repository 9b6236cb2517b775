select run_id, id, step, kind, prompt, schema, fallback, expires_at, asked_at
from cairn.question
where (asked_at, run_id, id) > ($1::bigint, $2::uuid, $3::text)
order by asked_at, run_id, id
limit $4::int
