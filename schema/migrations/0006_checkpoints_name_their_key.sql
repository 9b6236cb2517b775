-- Signed checkpoints: each names the key that signed it, and the database has an identity that it keeps when it is
-- moved or restored, so that the files outside of it are found again and no checkpoint passes for another database's.
alter table cairn.checkpoint add column key bytea not null;

create table cairn.identity (
  id uuid primary key default gen_random_uuid()
);

insert into cairn.identity default values;

comment on column cairn.checkpoint.process is 'The start of a process: drawn, never used again.';
comment on column cairn.checkpoint.heads is
  'The runs it committed to since its last checkpoint, one a line: run, number and chain hash of its last event.';
comment on column cairn.checkpoint.previous is
  'SHA-256 of what was signed in the process''s checkpoint n - 1, and of its signature.';
comment on column cairn.checkpoint.key is 'SHA-256 of the public key (Ed25519).';
