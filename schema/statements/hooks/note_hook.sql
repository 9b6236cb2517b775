-- Counts one more note of it. Returns the number.
update cairn.hook h
set notes = h.notes + 1
where h.name = $1::text and not h.removed
returning h.notes
