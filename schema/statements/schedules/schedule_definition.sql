-- The definition of a revision; if several schedules had the name one after another, the last one's.
select definition
from cairn.schedule_note
where schedule = $1::text and revision = $2::bigint and definition is not null
order by number desc
limit 1
