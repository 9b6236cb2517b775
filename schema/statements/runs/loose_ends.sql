-- Called runs that ended without their callers, as run_loose_end has them, and whether their callers are open. $1 shard
-- and $2 run: those after this one.
select c.run_id, coalesce(p.status in ('running', 'paused'), false) as caller_is_open
from cairn.run c left join cairn.run p on p.shard = any (array[c.shard]) and p.run_id = c.parent
where c.parent is not null and c.open_child_of is null and not c.caller_knows
      and (c.shard, c.run_id) > ($1::int, $2::uuid)
order by c.shard, c.run_id
limit $3::int
