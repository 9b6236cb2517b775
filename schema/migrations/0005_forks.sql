-- The moment of another run that a fork began at.
alter table cairn.run add column origin uuid, add column origin_seq bigint;

create index run_origin on cairn.run (origin) where origin is not null;
