-- The times of occurrences that have a run.
select at
from cairn.schedule_note
where schedule = $1::text and at >= $2::bigint and at <= $3::bigint and kind = 'started'
order by at
