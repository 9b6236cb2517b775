-- Starts of graphs with a singleton, a debounce or a batch, by their key: which run has the key, and which starts wait
-- (decision 0103). A process locks the keys whose time has come, decides, begins runs, and confirms that they began.
create table cairn.start_key (
  graph text not null,
  key text not null,
  numbers bigint not null,
  look_at bigint not null,
  state text not null,
  primary key (graph, key)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

create index start_key_due on cairn.start_key (look_at, graph, key);

comment on column cairn.start_key.numbers is 'The number of its last start.';
comment on column cairn.start_key.look_at is 'When a process has to look at it next; the greatest bigint: never.';

-- Starts that have not become runs yet, and those that were refused when their time had come.
create table cairn.waiting_start (
  graph text not null,
  key text not null,
  number bigint not null,
  run_id uuid not null,
  asked_at bigint not null,
  actor text not null,
  request text not null,
  refusal text,
  primary key (graph, key, number)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create index waiting_start_run on cairn.waiting_start (run_id);
create index waiting_start_refused on cairn.waiting_start (asked_at) where refusal is not null;

comment on column cairn.waiting_start.run_id is 'The run that it becomes; several starts of a batch become one.';
comment on column cairn.waiting_start.request is 'Input, tags and options, as JSON.';

do $$
begin
  if exists (select from pg_roles where rolname = 'cairn_app') then
    grant select, insert, update, delete on cairn.start_key, cairn.waiting_start to cairn_app;
  end if;
exception
  when insufficient_privilege then
    raise notice 'grants are left as they are: this login does not own the schema cairn';
end $$;
