-- Counts the notices of each hook, or of the hook $1: those that wait and those that are parked, up to $2 of each, and
-- with $3 those that were delivered lately. When the oldest that waits was noted; since when one has been due.
select h.name, w.waiting, p.parked,
  case when $3::boolean then (
    select count(*) from cairn.hook_delivery d where d.hook = h.name and d.status = 'delivered'
  ) else 0 end as delivered,
  w.oldest, (
    select d.next_at
    from cairn.hook_delivery d
    where d.hook = h.name and d.status = 'waiting'
      and d.next_at <= (extract(epoch from statement_timestamp()) * 1000000)::bigint
    order by d.hook, d.next_at
    limit 1
  ) as due
from cairn.hook h
cross join lateral (
  select count(*) as waiting, min(v.noted_at) as oldest
  from (
    select d.noted_at from cairn.hook_delivery d where d.hook = h.name and d.status = 'waiting'
    order by d.hook, d.next_at limit $2::int
  ) v
) w
cross join lateral (
  select count(*) as parked
  from (
    select from cairn.hook_delivery d where d.hook = h.name and d.status = 'parked'
    order by d.hook, d.run_id, d.seq limit $2::int
  ) v
) p
where not h.removed and ($1::text is null or h.name = $1::text)
order by h.name
