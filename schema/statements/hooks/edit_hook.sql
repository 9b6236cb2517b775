-- The definition $3 in the place of $2; $4: in order. Nothing: there is no such hook, it is not ready or on its way
-- out, or its definition is another one by now. Returns the number of its next note.
update cairn.hook h
set definition = $3::text, ordered = $4::boolean, notes = h.notes + 1,
  resumed_at = (extract(epoch from statement_timestamp()) * 1000000)::bigint
where h.name = $1::text and h.definition = $2::text and h.ready and not h.removed
returning h.notes
