select started_at, run_id
from cairn.run
where (started_at, run_id) > ($1::bigint, $2::uuid)
order by started_at, run_id
offset $3::bigint limit 1
