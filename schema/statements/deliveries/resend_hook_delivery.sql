-- Sends one again, whatever became of it, or passes over it ($5) so that a later one of its run may go.
update cairn.hook_delivery d
set status = case when $5::boolean then 'skipped' else 'waiting' end, failures = 0, next_at = t.now,
  settled_at = case when $5::boolean then t.now end
from (select (extract(epoch from statement_timestamp()) * 1000000)::bigint as now) t
where d.hook = $1::text and d.run_id = $2::uuid and d.seq = $3::bigint and d.kind = $4::text
  and (not $5::boolean or d.status in ('waiting', 'parked'))
returning d.hook
