-- A slice of a shard's open children, in the order of their parents, after a parent, and whether nothing waits for them
-- any more: the parent has ended, or it cleans up (only then a run under way has a reason) and gave them up for that.
-- A child that cleans up itself is left alone.
-- The cost depends on the slice's length, not on how many runs there are.
select c.run_id, c.open_child_of, c.reason = '' and p.is_orphan as is_orphan
from (
  select open_child_of, run_id, reason
  from cairn.run
  where shard = $1::int and open_child_of is not null and open_child_of > $2::uuid
  order by open_child_of
  limit $3::int
) c
cross join lateral (
  select r.status not in ('running', 'paused')
         or (r.reason <> ''
             and exists (select 1 from cairn.event e
                         where e.shard = $1::int and e.run_id = r.run_id and e.type = 24
                               and e.payload::jsonb -> 'closed' -> 'children' ? c.run_id::text)) as is_orphan
  from cairn.run r
  where r.shard = $1::int and r.run_id = c.open_child_of offset 0
) p
