-- The newest first, those after the place $4 to $7 in that order; with a status, those that have it.
select d.hook, d.run_id, d.seq, d.kind, d.noted_at, d.next_at, d.sends, d.settled_at, d.failures, d.answer,
  d.status, d.says
from cairn.hook_delivery d
where d.hook = $1::text and ($2::text = '' or d.status = $2::text)
  and (d.noted_at, d.run_id, d.seq, d.kind) < ($4::bigint, $5::uuid, $6::bigint, $7::text)
order by d.hook desc, d.noted_at desc, d.run_id desc, d.seq desc, d.kind desc
limit $3::int
