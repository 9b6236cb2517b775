-- The feed: commits in an order that consumers follow. A commit leaves a row while there is a consumer; rows get their
-- positions later, once they are visible, so that a commit that becomes visible late is not skipped.
create table cairn.feed (
  shard int not null,
  position bigint,
  at bigint not null,
  lsn pg_lsn not null,
  run_id uuid not null,
  runs uuid[] not null,
  firsts bigint[] not null,
  lasts bigint[] not null,
  primary key (shard, lsn, run_id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create index feed_fresh on cairn.feed (shard, lsn, run_id) where position is null;
create index feed_position on cairn.feed (shard, position) where position is not null;

comment on column cairn.feed.lsn is
  'The end of the log when the commit wrote this row: later than that of each commit that it follows.';
comment on column cairn.feed.run_id is
  'The first of `runs`: two commits at one place of the log have no run in common.';
comment on column cairn.feed.runs is 'The runs of the commit; of each, the events from `firsts` to `lasts`.';
comment on column cairn.feed.at is 'The server''s clock at the commit: shows how far a consumer is behind.';

create table cairn.feed_consumer (
  name text primary key,
  id text not null,
  created_at bigint not null,
  graph text,
  tags text not null,
  types text[] not null,
  created_by text not null
);

create table cairn.feed_place (
  shard int not null,
  consumer text not null,
  position bigint not null,
  skip bigint not null,
  moved_at bigint not null,
  history_run uuid,
  history_seq bigint,
  primary key (shard, consumer)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

comment on column cairn.feed_place.position is 'The last row of the feed whose events were all read.';
comment on column cairn.feed_place.skip is 'How many events of the next row were read too.';
comment on column cairn.feed_place.history_run is
  'While the consumer reads what was there before it: the run and the event that it read last. Null afterwards.';

-- False: a session of an earlier release, whose commits leave no row in the feed.
alter table cairn.worker add column feeds boolean not null default false;

do $$
begin
  if exists (select from pg_roles where rolname = 'cairn_app') then
    grant select, insert, update, delete on cairn.feed, cairn.feed_place to cairn_app;
    grant select, insert, delete on cairn.feed_consumer to cairn_app;
  end if;
exception
  when insufficient_privilege then
    raise notice 'grants are left as they are: this login does not own the schema cairn';
end $$;
