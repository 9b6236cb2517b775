-- What the console keeps for all who use it: views that were saved under a name, and the key that signs links by which
-- one question is answered without a token.
create table cairn.saved_view (
  name text primary key,
  address text not null,
  created_at bigint not null,
  created_by text not null
);

comment on column cairn.saved_view.address is
  'What follows "#/" in the address of the page: runs?where=status%3Dfailed.';

create table cairn.link_key (
  number bigint primary key,
  key bytea not null,
  created_at bigint not null
);

comment on table cairn.link_key is 'The newest signs and is accepted; without any, the next link makes one.';
