-- The starts of the one queue with a rate, as limit_notes.sql has them: their number, and the most in any window of $1
-- microseconds, both of its ends included. A start is a job that was claimed, or one that was taken for a job that was
-- held already; each of those moved the rate by $2 microseconds.
with taken as (
  select a.at, (a.full_at - a.before) / $2::bigint as starts
  from (
    select tx, at, full_at,
      greatest(at, max(full_at) over (order by nth rows between unbounded preceding and 1 preceding)) as before
    from public.allowed
    where key = ''
  ) a
  where a.tx not in (select tx from public.claimed)
), starts as (
  select a.at from public.claimed c join public.allowed a on a.tx = c.tx and a.key = ''
  union all
  select t.at from taken t, generate_series(1, t.starts)
)
select count(*) as starts, coalesce(max(w.within), 0) as most
from (select count(*) over (order by at range between $1::bigint preceding and current row) as within from starts) w
