-- The schedule's own that the database's clock came back from ahead, after a number; in their order.
select number, recorded_at, kind, at, until, count, run_id, says, actor, revision, definition
from cairn.schedule_note
where schedule = $1::text and number > $2::bigint and kind = 'resumed' and actor = 'schedule'
order by number
limit $3::int
