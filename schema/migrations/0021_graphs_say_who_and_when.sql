-- Who put a graph version there, or made it the current one of its name last, and when.
alter table cairn.graph add column at bigint not null default 0, add column actor text not null default '';

comment on column cairn.graph.at is '0: an older program.';
