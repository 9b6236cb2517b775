-- After lock_queues: removes the permits of these queues whose job is no longer held as it was claimed.
delete from cairn.permit p
where p.queue = any($1::text[])
  and not exists (
    select from cairn.job j
    where j.shard = p.shard and j.run_id = p.run_id and j.branch = p.branch
      and j.epoch = p.epoch and j.session is not null and j.queue is not distinct from p.queue)
