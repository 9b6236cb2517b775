-- At most $2 of them. (offset 0: as in lock_runs.sql.)
delete from cairn.hook_delivery d
using (
  select o.run_id, o.seq, o.kind
  from cairn.hook_delivery o
  where o.hook = $1::text
  order by o.hook, o.run_id, o.seq, o.kind
  limit $2::int
) u
where d.hook = $1::text and d.run_id = u.run_id and d.seq = u.seq and d.kind = u.kind
  and exists (select from cairn.hook h where h.name = $1::text and h.removed offset 0)
returning d.hook
