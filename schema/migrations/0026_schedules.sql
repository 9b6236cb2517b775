-- Schedules: what starts runs at times, and the notes that are each one's history. A process locks the rows whose time
-- has come, decides, and writes the notes with the new state (decision 0089).
create table cairn.schedule (
  name text primary key,
  revision bigint not null,
  notes bigint not null,
  look_at bigint not null,
  zone text not null,
  zone_mark text not null,
  definition text not null,
  state text not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

create index schedule_due on cairn.schedule (look_at, name);

comment on column cairn.schedule.notes is 'The number of its last note.';
comment on column cairn.schedule.look_at is 'When a process has to look at it next; the greatest bigint: never.';
comment on column cairn.schedule.zone_mark is 'Names the bytes of the zone''s file by which look_at was found.';

-- Stays when the schedule is removed; one of the same name later goes on with the numbers.
create table cairn.schedule_note (
  schedule text not null,
  number bigint not null,
  recorded_at bigint not null,
  kind text not null,
  at bigint,
  until bigint,
  count bigint not null,
  run_id uuid,
  says text not null,
  actor text not null,
  revision bigint not null,
  definition text,
  primary key (schedule, number)
);

create index schedule_note_at on cairn.schedule_note (schedule, at) where at is not null;

comment on column cairn.schedule_note.at is 'The time of the occurrence, or of the first of `count` until `until`.';
comment on column cairn.schedule_note.definition is 'Of what was added or edited.';

do $$
begin
  if exists (select from pg_roles where rolname = 'cairn_app') then
    grant select, insert, update, delete on cairn.schedule to cairn_app;
    grant select, insert on cairn.schedule_note to cairn_app;
  end if;
exception
  when insufficient_privilege then
    raise notice 'grants are left as they are: this login does not own the schema cairn';
end $$;
