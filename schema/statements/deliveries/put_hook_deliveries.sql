-- One that is there stays as it is: what is read from the feed twice is sent once.
insert into cairn.hook_delivery (hook, run_id, seq, kind, noted_at, next_at, sends, settled_at, failures, answer,
  status, says)
select $1::text, u.run_id, u.seq, u.kind, t.now, t.now, 0, null, 0, 0, 'waiting', ''
from unnest($2::uuid[], $3::bigint[], $4::text[]) as u (run_id, seq, kind)
cross join (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now) t
where exists (select from cairn.hook h where h.name = $1::text and not h.removed)
on conflict (hook, run_id, seq, kind) do nothing
returning run_id
