-- Starts that have become runs, or that others have taken the place of.
delete from cairn.waiting_start w
using unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) as gone (graph, key, first, last)
where w.graph = gone.graph and w.key = gone.key and w.number between gone.first and gone.last and w.refusal is null
