select run_id, id, step, kind, prompt, schema, fallback, expires_at, asked_at
from cairn.question where shard = $1::int and run_id = $2::uuid
order by asked_at, id
limit $3::int
