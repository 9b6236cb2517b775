-- Tokens of the API. A row is never removed, so that the name of an actor in an event stays that of one token.
create table cairn.token (
  name text primary key,
  hash bytea not null unique,
  roles text[] not null,
  scopes text[] not null,
  quotas text[] not null,
  created_at bigint not null,
  created_by text not null,
  revoked_at bigint
);

comment on column cairn.token.hash is 'SHA-256 of the token, which is random and stands nowhere else.';
comment on column cairn.token.scopes is 'graph=NAME, queue=NAME, tag=KEY=VALUE; empty: everything.';
