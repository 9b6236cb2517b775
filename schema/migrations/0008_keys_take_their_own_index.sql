-- The planner takes a partial index only where a statement's conditions imply its predicate. A claim names queues and
-- may use job_due; a statement that looks a job up by its key says nothing of queues, and cannot take job_due for it,
-- which in a table of dead rows looked as cheap to the planner as the key's own index, and meant reading all of it.
drop index cairn.job_due;
create index job_due on cairn.job (shard, queue, priority, run_at, run_id, branch) where queue is not null;
