-- A run's home: the session whose process keeps something open for the run that another one would have to open again,
-- as a browser; `queues` are those that it serves. A job in these that a commit frees meanwhile is not offered to all
-- (job.offered is false): that session claims it, and any other one once the row or the session is gone. Workers of
-- earlier releases offer it within seconds.
create table cairn.home (
  shard int not null,
  run_id uuid not null,
  session bigint not null,
  queues text[] not null,
  primary key (shard, run_id)
);

comment on table cairn.home is
  'Sessions that keep something open for a run, and so are the first to be given its steps. Never needed for a result.';
