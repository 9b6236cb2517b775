insert into cairn.schedule_note (schedule, number, recorded_at, kind, at, until, count, run_id, says, actor, revision,
  definition)
select *
from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::uuid[],
  $9::text[], $10::text[], $11::bigint[], $12::text[])
