-- The times of occurrences that have a run: started, and not refused since.
select n.at
from cairn.schedule_note n
where n.schedule = $1::text and n.at >= $2::bigint and n.at <= $3::bigint and n.kind = 'started'
  and not exists (
    select from cairn.schedule_note r
    where r.schedule = n.schedule and r.at = n.at and r.kind = 'refused' and r.number > n.number)
order by n.at
