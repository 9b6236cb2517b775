-- For each of the shards, true if it has an event.
select s.shard, exists (select from cairn.event e where e.shard = s.shard) as has_history
from unnest($1::int[]) as s (shard)
