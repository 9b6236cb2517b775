-- The permits of the jobs `taken`.
  insert into cairn.permit (queue, shard, run_id, branch, epoch)
  select t.queue, t.shard, t.run_id, t.branch, t.epoch from taken t
  on conflict (queue, shard, run_id, branch) do update set epoch = excluded.epoch
