-- The starts of the one queue with a rate for each of its keys, as limit_notes.sql has them: their number, and the most
-- of one key in any window of $1 microseconds, both of its ends included.
select count(*) as starts, coalesce(max(w.within), 0) as most
from (
  select count(*) over (partition by c.key order by a.at range between $1::bigint preceding and current row) as within
  from public.claimed c
  join public.allowed a on a.tx = c.tx and a.key = '=' || c.key
) w
