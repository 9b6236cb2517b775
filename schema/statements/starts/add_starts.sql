insert into cairn.waiting_start (graph, key, number, run_id, asked_at, actor, request)
select *
from unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::bigint[], $6::text[], $7::text[])
