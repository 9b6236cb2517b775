select graph, key, number, run_id, asked_at, actor, request, refusal
from cairn.waiting_start
where graph = $1::text and key = $2::text and number between $3::bigint and $4::bigint
order by number
