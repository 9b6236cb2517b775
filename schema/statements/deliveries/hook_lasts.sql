-- The notice of each hook, or of the hook $1, that was noted last.
select v.hook, v.run_id, v.seq, v.kind, v.noted_at, v.next_at, v.sends, v.settled_at, v.failures, v.answer, v.status,
  v.says
from cairn.hook h
cross join lateral (
  select d.hook, d.run_id, d.seq, d.kind, d.noted_at, d.next_at, d.sends, d.settled_at, d.failures, d.answer,
    d.status, d.says
  from cairn.hook_delivery d
  where d.hook = h.name
  order by d.hook desc, d.noted_at desc, d.run_id desc, d.seq desc, d.kind desc
  limit 1
) v
where not h.removed and ($1::text is null or h.name = $1::text)
order by h.name
