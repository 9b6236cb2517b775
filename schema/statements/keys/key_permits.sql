-- As key_jobs.sql, for the permits of jobs that are held. $1 shard, $2 queue.
update cairn.permit p
set key = (select (
-- part limit_key
       ) from (select p.run_id as run_id, p.queue as queue) k)
where p.queue = $2::text and p.shard = $1::int
