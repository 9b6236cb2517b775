-- Where a run came from that was not started here.
create table cairn.import (
  shard int not null,
  at bigint not null,
  run_id uuid not null,
  actor text not null,
  origin text not null,
  file_digest bytea not null,
  key bytea,
  primary key (shard, run_id)
);

comment on column cairn.import.actor is 'Who imported it.';
comment on column cairn.import.origin is 'The identity of the database that exported it.';
comment on column cairn.import.file_digest is 'SHA-256 of the export''s bytes.';
comment on column cairn.import.key is
  'SHA-256 of the public key whose signature over the run''s head was checked; null: none was asked for.';

-- An export takes along the checkpoints over its runs' heads, which were signed soon after the runs' last events.
create index checkpoint_at on cairn.checkpoint (at, process, n);
