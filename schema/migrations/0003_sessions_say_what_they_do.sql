-- A session says when it last beat and what it can do, so that a person can be told why a step does not move.
-- A worker of an older release leaves the defaults: 0 is unknown, null is unknown.
alter table cairn.worker
  add column beat_at bigint not null default 0,
  add column only_own boolean not null default false,
  add column handlers text[],
  add column tools text[],
  add column machine text not null default '';

comment on column cairn.worker.only_own is 'It executes only the runs it was started for (`start --wait`).';
comment on column cairn.worker.machine is
  'Where its process id means something: sessions with the same text can see whether its process is gone.';
