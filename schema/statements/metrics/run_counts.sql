select status, waiting, count(*)
from cairn.run
where (started_at, run_id) > ($1::bigint, $2::uuid) and (started_at, run_id) <= ($3::bigint, $4::uuid)
group by status, waiting
