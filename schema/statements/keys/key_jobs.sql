-- The keys of the unowned jobs of a queue in a shard whose limits name another one now; or, if $3, of those alone that
-- have none: a worker of an earlier release offered them, or the process that changed the limits died. $1 shard, $2
-- queue.
update cairn.job j
set limit_key = (select (
-- part limit_key
       ) from (select j.run_id as run_id, j.queue as queue) k)
where j.shard = $1::int and j.queue = $2::text and j.session is null and (j.limit_key is null or not $3::boolean)
