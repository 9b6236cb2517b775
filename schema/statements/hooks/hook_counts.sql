-- Counts for each hook the notices that wait, are parked, were delivered lately; when the oldest that waits was noted;
-- since when one has been due that no process has taken.
select h.name, count(*) filter (where d.status = 'waiting') as waiting,
  count(*) filter (where d.status = 'parked') as parked,
  count(*) filter (where d.status = 'delivered') as delivered,
  min(d.noted_at) filter (where d.status = 'waiting') as oldest,
  min(d.next_at) filter (where d.status = 'waiting'
    and d.next_at <= (extract(epoch from statement_timestamp()) * 1000000)::bigint) as due
from cairn.hook h
left join cairn.hook_delivery d on d.hook = h.name
group by h.name
order by h.name
