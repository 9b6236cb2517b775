-- Who holds the jobs of a queue with a limit, so that a claim counts them without walking the queue. A permit is valid
-- while its job is held with this epoch; nobody takes it away but the claims of that queue. Changed by claims alone, so
-- that jobs of queues without a limit pay nothing.
create table cairn.permit (
  shard int not null,
  branch int not null,
  epoch bigint not null,
  run_id uuid not null,
  queue text not null,
  primary key (queue, shard, run_id, branch)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
