-- Those of the hook that have been over for $2 microseconds, and for $3 if they are about a run that stood still; at
-- most $4 of them.
delete from cairn.hook_delivery d
using (
  select o.run_id, o.seq, o.kind
  from cairn.hook_delivery o
  where o.hook = $1::text and o.status in ('delivered', 'skipped', 'gone')
    and o.settled_at < (extract(epoch from statement_timestamp()) * 1000000)::bigint - $2::bigint
    and (o.kind <> 'stalled'
         or o.settled_at < (extract(epoch from statement_timestamp()) * 1000000)::bigint - $3::bigint)
  order by o.hook, o.settled_at
  limit $4::int
) over
where d.hook = $1::text and d.run_id = over.run_id and d.seq = over.seq and d.kind = over.kind
returning d.hook
