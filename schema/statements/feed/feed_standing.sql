-- The places of all consumers in the shards: when each was moved, whether it reads history yet, and when the first row
-- with a position after it was committed.
select p.consumer, p.shard, p.position, p.moved_at, p.history_run is not null as reads_history,
       (select f.at from cairn.feed f where f.shard = p.shard and f.position > p.position
        order by f.shard, f.position limit 1) as oldest
from cairn.feed_place p
where p.shard = any ($1::int[])
