-- By the one who took it last: no row otherwise. If it goes on waiting, for $8 microseconds. Not by its status, for
-- which an index of all that wait would be read.
update cairn.hook_delivery d
set status = $6::text, failures = $7::int, next_at = t.now + $8::bigint, answer = $9::int, says = $10::text,
  settled_at = case when $6::text <> 'waiting' then t.now end
from (select (extract(epoch from statement_timestamp()) * 1000000)::bigint as now) t
where d.hook = $1::text and d.run_id = $2::uuid and d.seq = $3::bigint and d.kind = $4::text
  and d.sends = $5::bigint and d.settled_at is null
returning d.hook
