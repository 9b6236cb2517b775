-- Those about occurrences in a range of time, in their order.
select number, recorded_at, kind, at, until, count, run_id, says, actor, revision, definition
from cairn.schedule_note
where schedule = $1::text and at <= $3::bigint and until >= $2::bigint
order by number
limit $4::int
