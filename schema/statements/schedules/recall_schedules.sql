-- Schedules that are to be looked at more than a day from now, although some of their times further ahead have been
-- decided, or something waits or is to be started: the clock was ahead when they were last looked at. $1 a day.
update cairn.schedule s
set look_at = n.now
from (select (extract(epoch from statement_timestamp()) * 1000000)::bigint as now) n
where s.name in (
  select f.name
  from cairn.schedule f
  where f.look_at > (extract(epoch from statement_timestamp()) * 1000000)::bigint + $1::bigint
    and ((f.state::jsonb ->> 'decided')::bigint > extract(epoch from statement_timestamp()) + $1::bigint / 1000000
         or f.state::jsonb ? 'starting' or (f.state::jsonb ? 'waiting' and not f.state::jsonb ? 'paused'))
  for update skip locked
)
