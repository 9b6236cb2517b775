-- Rates and other limits of queues, and the record of their changes (decision 0095). A queue with a limit that earlier
-- releases do not know stands as paused in the column that they read, so that their workers leave it alone; what the
-- operator said of a pause is in `limits` then.
alter table cairn.queue add column limits text, add column revision bigint not null default 0;

comment on column cairn.queue.limits is
  'What only releases since 28 know of the limits, as JSON; null: nothing. Then `paused` is true for those before.';

-- When the starts that a rate allows at once are all free again, after the last claim in this shard. The greatest time
-- of a queue's rows counts; one in the past is as good as none. An empty key: the queue as a whole;
-- one that begins with =: that key.
create table cairn.rate (
  shard int not null,
  queue text not null,
  key text not null,
  full_at bigint not null,
  at bigint not null,
  primary key (queue, key, shard)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0);

comment on column cairn.rate.at is 'When that claim was made, by the one clock of the database.';

-- A queue may have limits for each key of its jobs: a tag of the run, or a value in its input. Null: its queue had no
-- keys when the job was offered. Ordered by bytes, as the turns of the keys are.
alter table cairn.job add column limit_key text collate "C";
alter table cairn.permit add column key text collate "C";

-- The key of a queue whose turn it is in this shard, and how many of its jobs were begun in this turn.
create table cairn.key_turn (
  shard int not null,
  queue text not null,
  key text not null,
  served bigint not null,
  primary key (queue, shard)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0);

create table cairn.queue_change (
  queue text not null,
  revision bigint not null,
  at bigint not null,
  actor text not null,
  concurrency int,
  paused boolean not null,
  limits text,
  primary key (queue, revision)
);

comment on table cairn.queue_change is 'What was set for a queue by each change; only ever added to.';

do $$
begin
  if exists (select from pg_roles where rolname = 'cairn_app') then
    grant select, insert, update, delete on cairn.rate, cairn.key_turn to cairn_app;
    grant select, insert on cairn.queue_change to cairn_app;
  end if;
exception
  when insufficient_privilege then
    raise notice 'grants are left as they are: this login does not own the schema cairn';
end $$;
