-- Gives rows of the feed that are visible and have no position yet the next ones of their shard, in the order of the
-- log; at most $1 of them. Returns how many. Sent after lock_feed_numbers.sql, in its transaction: a commit that was
-- not visible yet gets a later position, so no reader is past it. A run's commits follow one another, and each wrote
-- its row when the one before was committed.
with fresh as materialized (
  select n.shard, n.lsn, n.run_id, row_number() over (partition by n.shard order by n.lsn, n.run_id) as nth
  from (select f.shard, f.lsn, f.run_id from cairn.feed f
        where f.position is null
        order by f.shard, f.lsn, f.run_id
        limit $1::int) n
), ends as materialized (
  select s.shard, coalesce((select f.position from cairn.feed f where f.shard = s.shard and f.position is not null
                            order by f.shard, f.position desc limit 1), 0) as last
  from (select distinct n.shard from fresh n) s
), numbered as (
  update cairn.feed f
  set position = e.last + n.nth
  from fresh n
  join ends e on e.shard = n.shard
  where f.shard = n.shard and f.lsn = n.lsn and f.run_id = n.run_id
  returning true
)
select count(*) as numbered from numbered
