-- The facts about late notices of hooks that are not paused: since when one has been due that none of its run holds
-- back (null: there is none); when one was delivered last; the last failure of one that waits to be tried again.
select h.name, (
    select d.next_at
    from cairn.hook_delivery d
    where d.hook = h.name and d.status = 'waiting'
      and d.next_at <= (extract(epoch from statement_timestamp()) * 1000000)::bigint
      and not (h.ordered and exists (
        select from cairn.hook_delivery e
        where e.hook = d.hook and e.run_id = d.run_id and e.status in ('waiting', 'parked') and e.kind <> 'test'
          and (e.seq, e.kind = 'stalled') < (d.seq, d.kind = 'stalled')))
    order by d.hook, d.next_at
    limit 1
  ) as free_since, (
    select d.settled_at
    from cairn.hook_delivery d
    where d.hook = h.name and d.status in ('delivered', 'skipped', 'gone')
    order by d.hook desc, d.settled_at desc
    limit 1
  ) as moved_at, (
    select d.says
    from cairn.hook_delivery d
    where d.hook = h.name and d.status = 'waiting' and d.failures > 0
    order by d.hook desc, d.next_at desc
    limit 1
  ) as refused
from cairn.hook h
where not h.removed and h.paused_at is null
order by h.name
