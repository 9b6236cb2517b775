-- Permits for the jobs already held when a queue gets a concurrency; after exclude_claims, so that no claim is under
-- way.
insert into cairn.permit (queue, shard, run_id, branch, epoch)
select j.queue, j.shard, j.run_id, j.branch, j.epoch
from cairn.job j
where j.queue = $1::text and j.session is not null
on conflict (queue, shard, run_id, branch) do update set epoch = excluded.epoch
