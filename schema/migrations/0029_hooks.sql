-- Hooks: what is sent to an address, or given to a command, when something happens to a run. Each hook is a consumer of
-- the feed; what it reads there becomes rows of hook_delivery, which any process sends (decision 0096).
create table cairn.hook (
  name text primary key,
  notes bigint not null,
  fence bigint not null,
  look_at bigint not null,
  created_at bigint not null,
  paused_at bigint,
  resumed_at bigint not null,
  scan_shard int not null,
  scan_run uuid not null,
  ready boolean not null,
  removed boolean not null,
  ordered boolean not null,
  paused_by text not null,
  paused_reason text not null,
  definition text not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

comment on column cairn.hook.notes is 'The number of its last note.';
comment on column cairn.hook.look_at is 'When a process has to read the feed for it next.';
comment on column cairn.hook.resumed_at is
  'When it was last let go on, added or edited: an older answer pauses it no more.';
comment on column cairn.hook.fence is 'Counts those who took it to read the feed: only the last one may write.';
comment on column cairn.hook.ready is 'It has its consumer of the feed.';
comment on column cairn.hook.removed is 'It is on its way out: its consumer goes first, then its rows.';
comment on column cairn.hook.scan_run is 'The run of scan_shard at which the search for standstills goes on.';

-- Stays when the hook is removed; one of the same name later goes on with the numbers.
create table cairn.hook_note (
  hook text not null,
  number bigint not null,
  at bigint not null,
  kind text not null,
  actor text not null,
  says text not null,
  definition text,
  primary key (hook, number)
);

-- A notice of a hook: what happened (an event of a run, or that it stands still after that event), and what became of
-- sending it. Without the event's data, which are read when it is sent.
create table cairn.hook_delivery (
  run_id uuid not null,
  seq bigint not null,
  noted_at bigint not null,
  next_at bigint not null,
  sends bigint not null,
  settled_at bigint,
  failures int not null,
  answer int not null,
  hook text not null,
  kind text not null,
  status text not null,
  says text not null,
  primary key (hook, run_id, seq, kind)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create index hook_delivery_due on cairn.hook_delivery (hook, next_at, run_id, seq) where status = 'waiting';
create index hook_delivery_parked on cairn.hook_delivery (hook, run_id, seq) where status = 'parked';
create index hook_delivery_over on cairn.hook_delivery (hook, settled_at) include (status)
  where status in ('delivered', 'skipped', 'gone');

comment on column cairn.hook_delivery.sends is 'How often it was taken to be sent: the fence of the one who has it.';
comment on column cairn.hook_delivery.failures is 'Sends that were answered, or not, otherwise than by success.';
comment on column cairn.hook_delivery.answer is 'The status of the last answer over HTTP, or a command''s; 0: none.';

do $$
begin
  if exists (select from pg_roles where rolname = 'cairn_app') then
    grant select, insert, update, delete on cairn.hook, cairn.hook_delivery to cairn_app;
    grant select, insert on cairn.hook_note to cairn_app;
  end if;
exception
  when insufficient_privilege then
    raise notice 'grants are left as they are: this login does not own the schema cairn';
end $$;
