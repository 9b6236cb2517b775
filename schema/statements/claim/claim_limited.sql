-- After lock_queues and retire_permits: due jobs by priority, then by run_at, from each queue no more than its
-- concurrency leaves free, and from a paused one nothing. The priorities in use are found by hopping along the index.
-- $1 shard, $2 queues, $3 limit, $4 now, $5 session, $6 default timeout (ms), $7 grace (ms),
-- $8 runs that are passed by.
with recursive room (queue, place, free) as materialized (
-- part limited_rooms
-- part claim_of_rooms
