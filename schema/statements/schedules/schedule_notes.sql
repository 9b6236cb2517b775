-- The newest first.
select number, recorded_at, kind, at, until, count, run_id, says, actor, revision, definition
from cairn.schedule_note
where schedule = $1::text and number < $2::bigint
order by number desc
limit $3::int
