-- The newest position in each of the shards; 0: there is none.
select s.shard,
       coalesce((select f.position from cairn.feed f where f.shard = s.shard and f.position is not null
                 order by f.shard, f.position desc limit 1), 0) as last
from unnest($1::int[]) as s (shard)
