-- Removes the rows of the shards that all consumers are past, but for the one at a place, which proves cursors there,
-- and the newest, which says where positions go on. Without a consumer, all but the newest. A place without its
-- consumer holds nothing up: it was put, or moved, while the consumer was removed.
-- (offset 0: as in lock_runs.sql.)
delete from cairn.feed f
using (
  select s.shard,
         coalesce((select min(p.position) from cairn.feed_place p
                   where p.shard = s.shard and exists (select from cairn.feed_consumer c where c.name = p.consumer)),
                  9223372036854775807) as read,
         (select f.position from cairn.feed f where f.shard = s.shard and f.position is not null
          order by f.shard, f.position desc limit 1) as newest
  from unnest($1::int[]) as s (shard)
  offset 0
) u
where f.shard = any (array[u.shard]) and f.position < u.read and f.position < u.newest
