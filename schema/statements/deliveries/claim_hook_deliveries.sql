-- Takes notices to be sent: of each hook $1 up to $2 whose time has come, for $3 microseconds. An ordered hook ($4)
-- gives none that comes after another of its run that is waiting or parked; samples are not of a run.
with now as materialized (
  select (extract(epoch from statement_timestamp()) * 1000000)::bigint as us
), asked as materialized (
  select * from unnest($1::text[], $2::int[], $3::bigint[], $4::boolean[]) as w (hook, slots, lease, ordered)
), taken as materialized (
  select t.run_id, t.seq, t.kind, w.hook, w.lease
  from asked w
  cross join lateral (
    select d.run_id, d.seq, d.kind
    from cairn.hook_delivery d
    where d.hook = w.hook and d.status = 'waiting' and d.next_at <= (select us from now)
      and not (w.ordered and exists (
        select from cairn.hook_delivery e
        where e.hook = d.hook and e.run_id = d.run_id and e.status in ('waiting', 'parked')
          and e.kind <> 'test'
          and (e.seq, e.kind = 'stalled') < (d.seq, d.kind = 'stalled')))
    order by d.hook, d.next_at, d.run_id, d.seq
    limit w.slots
    for update skip locked
  ) t
)
update cairn.hook_delivery d
set sends = d.sends + 1, next_at = (select us from now) + u.lease
from taken u
where d.hook = u.hook and d.run_id = u.run_id and d.seq = u.seq and d.kind = u.kind
returning d.hook, d.run_id, d.seq, d.kind, d.noted_at, d.next_at, d.sends, d.settled_at, d.failures, d.answer,
  d.status, d.says
