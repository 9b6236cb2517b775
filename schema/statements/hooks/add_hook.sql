-- No row: there is one of that name. One that is not ready yet and has the same definition is taken over from the one
-- who began to add it: its answer may have been lost. Its fence is then above 1. The number is that of the last note.
insert into cairn.hook as h (name, notes, fence, look_at, created_at, paused_at, resumed_at, scan_shard, scan_run,
  ready, removed, ordered, paused_by, paused_reason, definition)
select $1::text, coalesce((select max(number) from cairn.hook_note where hook = $1::text), 0), 1,
  t.now + $4::bigint, t.now, null, t.now, 0, '00000000-0000-0000-0000-000000000000', false, false,
  $3::boolean, '', '', $2::text
from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now) t
on conflict (name) do update set fence = h.fence + 1, look_at = excluded.look_at
where not h.ready and not h.removed and h.definition = excluded.definition
returning notes, fence
