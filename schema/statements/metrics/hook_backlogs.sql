-- For each hook the notices that wait, since when the oldest has, and those that are parked: never the others, of which
-- there are as many as runs.
select h.name, waits.count as waiting, waits.oldest, parked.count as parked
from cairn.hook h
cross join lateral (
  select count(*) as count, min(d.noted_at) as oldest
  from cairn.hook_delivery d
  where d.hook = h.name and d.status = 'waiting'
) waits
cross join lateral (
  select count(*) as count
  from cairn.hook_delivery d
  where d.hook = h.name and d.status = 'parked'
) parked
order by h.name
