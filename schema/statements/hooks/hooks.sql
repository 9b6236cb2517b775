-- Those that are not on their way out.
select h.name, h.notes, h.fence, h.look_at, h.created_at, h.paused_at, h.resumed_at, h.scan_shard, h.scan_run, h.ready,
  h.removed, h.ordered, h.paused_by, h.paused_reason, h.definition
from cairn.hook h
where not h.removed and ($1::text is null or h.name = $1::text)
order by h.name
