-- The rows that a consumer has before it in each shard, those without a position too (up to 100,000), the time of the
-- oldest, and whether it reads history yet.
select p.shard, p.moved_at, p.history_run is not null as reads_history,
       coalesce((select f.position from cairn.feed f where f.shard = p.shard and f.position is not null
                 order by f.shard, f.position desc limit 1) - p.position, 0)
         + (select count(*) from (select from cairn.feed f where f.shard = p.shard and f.position is null
                                  limit 100000) fresh) as behind,
       coalesce((select f.at from cairn.feed f where f.shard = p.shard and f.position > p.position
                 order by f.shard, f.position limit 1),
                (select f.at from cairn.feed f where f.shard = p.shard and f.position is null
                 order by f.shard, f.lsn, f.run_id limit 1)) as oldest
from cairn.feed_place p
where p.consumer = $1::text
