-- Runs that are erased, not archived: their tombstones say who did it. A large value is shared by the runs of a shard
-- that have the same one, so it goes when no event refers to it any more and no step can be about to: put_at is renewed
-- each time the value is put. What an older program puts has the time of its first put.
alter table cairn.tombstone add column erased_by text not null default '';
alter table cairn.blob add column put_at bigint not null default 0;
alter table cairn.blob alter column put_at
  set default (extract(epoch from statement_timestamp()) * 1000000)::bigint;

create table cairn.erasing (
  shard int not null,
  hash bytea not null,
  primary key (shard, hash)
);

comment on table cairn.erasing is
  'Large values that erased runs referred to, until they are removed or another run is found to have them too.';
comment on column cairn.tombstone.erased_by is
  'The actor who erased the run, part of what is signed; empty: the run was archived.';
