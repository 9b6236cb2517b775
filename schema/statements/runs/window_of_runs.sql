-- The start of the last of the newest $4 runs before ($1, $2) that started at $3 or later; no row if there are fewer.
select r.started_at
from cairn.run r
where (r.started_at, r.run_id) < ($1::bigint, $2::uuid) and r.started_at >= $3::bigint
order by r.started_at desc, r.run_id desc
offset $4::int - 1
limit 1
