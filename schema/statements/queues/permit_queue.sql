-- Permits for the jobs of a shard that are held when a queue gets limits by which they count, with their keys; after
-- exclude_claims, so that no claim is under way. $1 shard, $2 queue.
insert into cairn.permit (queue, shard, run_id, branch, epoch, key)
select j.queue, j.shard, j.run_id, j.branch, j.epoch, (select (
-- part limit_key
       ) from (select j.run_id as run_id, j.queue as queue) k)
from cairn.job j
where j.shard = $1::int and j.queue = $2::text and j.session is not null
on conflict (queue, shard, run_id, branch) do update set epoch = excluded.epoch, key = excluded.key
