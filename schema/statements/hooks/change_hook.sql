-- Pauses it ($2: by this actor), lets it go on ($2 empty), or marks it as on its way out ($4), which is due at once.
-- With $5, when a notice was taken whose answer wants the change: only one that is not paused, nor was resumed since.
-- Returns the number of its next note.
update cairn.hook h
set paused_at = case when $2::text <> '' then coalesce(h.paused_at, t.now) end,
  resumed_at = case when $2::text = '' then t.now else h.resumed_at end,
  paused_by = $2::text, paused_reason = $3::text, removed = h.removed or $4::boolean,
  look_at = case when $4::boolean then t.now else h.look_at end, notes = h.notes + 1
from (select (extract(epoch from statement_timestamp()) * 1000000)::bigint as now) t
where h.name = $1::text and (not h.removed or $4::boolean)
  and ($5::bigint is null or (h.paused_at is null and h.resumed_at <= $5::bigint))
returning h.notes
