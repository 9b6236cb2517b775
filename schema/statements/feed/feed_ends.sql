-- The newest position in each of the shards, 0 if there is none; and the mark of the row at the position $2, null if
-- there is none.
select s.shard,
       coalesce((select f.position from cairn.feed f where f.shard = s.shard and f.position is not null
                 order by f.shard, f.position desc limit 1), 0) as last,
       (select
-- part feed_mark
        from cairn.feed f where f.shard = s.shard and f.position = s.position) as mark
from unnest($1::int[], $2::bigint[]) as s (shard, position)
