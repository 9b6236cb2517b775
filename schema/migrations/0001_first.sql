-- Times are microseconds since 1970-01-01 UTC (bigint, as they are hashed); 9223372036854775807 is never.
-- Per-run tables have the shard first in their key. What a step changes is never indexed, so that it stays a HOT
-- update.
create schema cairn;

create table cairn.migration (
  number int primary key,
  name text not null,
  shards int not null check (shards >= 1),
  applied_at timestamptz not null default now()
);

create table cairn.run (
  shard int not null,
  run_id uuid not null,
  waiting boolean not null,
  head bigint not null check (head >= 1),
  started_at bigint not null,
  updated_at bigint not null,
  parent uuid,
  continues uuid,
  open_child_of uuid,
  chain_hash bytea not null,
  status text not null check (status in ('running', 'paused', 'done', 'failed', 'aborted')),
  graph text not null,
  version text not null,
  reason text not null,
  tags jsonb not null,
  primary key (shard, run_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create index run_started_at on cairn.run (started_at, run_id);
create index run_continues on cairn.run (continues) where continues is not null;
create index run_open_child_of on cairn.run (shard, open_child_of) where open_child_of is not null;
create index run_tags on cairn.run using gin (tags jsonb_path_ops) where tags <> '{}';

comment on column cairn.run.open_child_of is
  'The parent while this run is open, else null: makes open children of ended parents cheap to find, and is null '
  'all along for a run that nobody called.';

create table cairn.event (
  shard int not null,
  step int not null,
  seq bigint not null,
  at bigint not null,
  commit bigint not null,
  type smallint not null,
  version smallint not null,
  run_id uuid not null,
  chain_hash bytea not null,
  actor text not null,
  payload text not null,
  primary key (shard, run_id, seq)
) with (autovacuum_vacuum_insert_scale_factor = 0.1);

create table cairn.job (
  shard int not null,
  branch int not null,
  step int not null,
  attempt int not null,
  priority int not null,
  run_at bigint not null,
  session bigint,
  epoch bigint not null,
  deadline bigint not null,
  timeout_ms bigint not null,
  run_id uuid not null,
  queue text not null,
  primary key (shard, run_id, branch)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);

create index job_due on cairn.job (shard, queue, priority, run_at, run_id, branch);

create table cairn.snapshot (
  shard int not null,
  run_id uuid not null,
  fold_version int not null,
  seq bigint not null,
  chain_hash bytea not null,
  state text not null,
  primary key (shard, run_id, fold_version, seq)
);

create table cairn.question (
  shard int not null,
  run_id uuid not null,
  id text not null,
  step int not null,
  asked_at bigint not null,
  expires_at bigint,
  kind text not null,
  prompt text not null,
  schema text not null,
  fallback text,
  primary key (shard, run_id, id)
);

create index question_asked_at on cairn.question (asked_at, run_id, id);

create table cairn.blob (
  shard int not null,
  hash bytea not null,
  bytes bytea not null,
  primary key (shard, hash)
);

create table cairn.graph (
  name text not null,
  version text not null,
  current boolean not null,
  text text not null,
  primary key (name, version)
);

create unique index graph_current on cairn.graph (name) where current;

create table cairn.worker (
  session bigint primary key,
  counter bigint not null,
  started_at bigint not null,
  pid bigint not null,
  host text not null,
  queues text[] not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

create table cairn.queue (
  name text primary key,
  concurrency int check (concurrency >= 0),
  paused boolean not null default false
);

create table cairn.checkpoint (
  process bigint not null,
  n bigint not null,
  at bigint not null,
  heads text not null,
  previous bytea not null,
  signature bytea not null,
  primary key (process, n)
);
