select run_id, id, step, kind, prompt, schema, fallback, expires_at, asked_at
from cairn.question
order by asked_at, run_id, id
limit $1::int
