-- No row: there is one of that name. The number is that of the last note of an earlier one.
insert into cairn.hook (name, notes, fence, look_at, created_at, paused_at, scan_shard, scan_run, ready, removed,
  ordered, paused_by, paused_reason, definition)
select $1::text, coalesce((select max(number) from cairn.hook_note where hook = $1::text), 0), 1,
  t.now + $4::bigint, t.now, null, 0, '00000000-0000-0000-0000-000000000000', false, false,
  $3::boolean, '', '', $2::text
from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now) t
on conflict (name) do nothing
returning notes
