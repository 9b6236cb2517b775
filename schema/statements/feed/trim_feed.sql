-- Removes rows of the shards that all consumers are past, the oldest first and at most $3 of them, but for the one at a
-- place, which proves cursors there, and the newest, which says where positions go on. Without a consumer, all but the
-- newest. A place without its consumer holds nothing up: it was put, or moved, while the consumer was removed.
-- None is left before the positions $2: a portion does not walk over the index entries of the portions before it.
-- Returns how many of each shard it found, some of which another process may have removed meanwhile, and the last one.
-- (offset 0: as in lock_runs.sql.)
with found as materialized (
  select n.shard, n.position
  from (
    select s.shard, s.begins,
           coalesce((select min(p.position) from cairn.feed_place p
                     where p.shard = s.shard
                           and exists (select from cairn.feed_consumer c where c.name = p.consumer)),
                    9223372036854775807) as read,
           (select f.position from cairn.feed f where f.shard = s.shard and f.position is not null
            order by f.shard, f.position desc limit 1) as newest
    from unnest($1::int[], $2::bigint[]) as s (shard, begins)
    offset 0
  ) u
  cross join lateral (
    select f.shard, f.position
    from cairn.feed f
    where f.shard = u.shard and f.position >= u.begins and f.position < u.read and f.position < u.newest
    order by f.shard, f.position
    limit $3::int
  ) n
  limit $3::int
), removed as (
  delete from cairn.feed f
  using found n
  where f.shard = any (array[n.shard]) and f.position = n.position
)
select n.shard, max(n.position) as last, count(*) as found
from found n
group by n.shard
