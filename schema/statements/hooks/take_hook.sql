-- The hook that has been due to read the feed for longest; its reader has $1 microseconds before another may take it,
-- or $2 if it has yet to make its consumer, which waits for commits under way.
update cairn.hook h
set fence = h.fence + 1, look_at = (extract(epoch from statement_timestamp()) * 1000000)::bigint
  + case when h.ready or h.removed then $1::bigint else $2::bigint end
from (
  select name
  from cairn.hook
  where look_at <= (extract(epoch from statement_timestamp()) * 1000000)::bigint
  order by look_at, name
  limit 1
  for update skip locked
) due
where h.name = due.name
returning h.name, h.notes, h.fence, h.look_at, h.created_at, h.paused_at, h.resumed_at, h.scan_shard, h.scan_run,
  h.ready, h.removed, h.ordered, h.paused_by, h.paused_reason, h.definition
