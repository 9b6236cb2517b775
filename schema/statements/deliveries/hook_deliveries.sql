-- The newest first; with a status, those that have it.
select d.hook, d.run_id, d.seq, d.kind, d.noted_at, d.next_at, d.sends, d.settled_at, d.failures, d.answer,
  d.status, d.says
from cairn.hook_delivery d
where d.hook = $1::text and ($2::text = '' or d.status = $2::text)
order by d.noted_at desc, d.run_id, d.seq desc, d.kind
limit $3::int
