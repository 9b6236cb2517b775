-- Runs that continue one of $1, or were forked from there: they hold a copy of what it had.
select u.run_id as origin, r.run_id, r.status
from unnest($1::uuid[]) as u (run_id)
join lateral (
  select c.run_id, c.status from cairn.run c where c.continues = u.run_id and c.continues is not null
  union
  select o.run_id, o.status from cairn.run o where o.origin = u.run_id and o.origin is not null
) r on true
order by u.run_id, r.run_id
