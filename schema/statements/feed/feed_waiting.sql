-- For each of the shards, the newest position, null if there is none; how many rows have no position yet, up to $2; and
-- when the first of these was committed.
select s.shard,
       (select f.position from cairn.feed f where f.shard = s.shard and f.position is not null
        order by f.shard, f.position desc limit 1) as last,
       (select count(*) from (select from cairn.feed f where f.shard = s.shard and f.position is null
                              limit $2::int) n) as waiting,
       (select f.at from cairn.feed f where f.shard = s.shard and f.position is null
        order by f.shard, f.lsn, f.run_id limit 1) as oldest
from unnest($1::int[]) as s (shard)
