-- What is left of a run that was archived: where it ended and which file has it, signed, so that its absence is
-- explained.
create table cairn.tombstone (
  shard int not null,
  seq bigint not null,
  at bigint not null,
  run_id uuid not null,
  chain_hash bytea not null,
  file_digest bytea not null,
  key bytea not null,
  signature bytea not null,
  primary key (shard, run_id)
);

comment on column cairn.tombstone.seq is 'Of the run''s last event; chain_hash is that event''s.';
comment on column cairn.tombstone.file_digest is 'SHA-256 of the archive''s bytes.';
