create index concurrently if not exists job_due_of_key on cairn.job (shard, queue, limit_key, priority, run_at, run_id,
  branch) where offered and limit_key is not null;
