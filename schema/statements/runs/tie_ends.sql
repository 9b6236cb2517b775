-- Their callers know of these ends, or need not.
update cairn.run r
set caller_knows = true
from (select $1::int as shard, n.* from unnest($2::uuid[]) as n (run_id) offset 0) u
where r.shard = any (array[u.shard]) and r.run_id = u.run_id and r.open_child_of is null
