select c.run_id
from cairn.run c join cairn.run p on p.shard = c.shard and p.run_id = c.open_child_of
where c.open_child_of is not null and p.status not in ('running', 'paused')
limit $1::int
