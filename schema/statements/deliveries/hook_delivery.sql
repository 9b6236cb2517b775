select d.hook, d.run_id, d.seq, d.kind, d.noted_at, d.next_at, d.sends, d.settled_at, d.failures, d.answer,
  d.status, d.says
from cairn.hook_delivery d
where d.hook = $1::text and d.run_id = $2::uuid and d.seq = $3::bigint and d.kind = $4::text
