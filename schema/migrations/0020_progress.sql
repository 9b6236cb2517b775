-- The text that a step has written so far, for those who watch: beside its job, no part of the history, and gone with a
-- crash of the server. A row counts while its session holds that attempt.
create unlogged table cairn.progress (
  shard int not null,
  step int not null,
  attempt int not null,
  branch int not null,
  session bigint not null,
  at bigint not null,
  written bigint not null,
  run_id uuid not null,
  node text not null,
  text text not null,
  primary key (shard, run_id, step, attempt)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0);

comment on column cairn.progress.written is 'Characters of the whole text, of which `text` is the end.';
