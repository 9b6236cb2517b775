-- A called run's end is committed together with its caller's event. A program of an older release that could not read
-- the caller committed the end alone, and leaves this column as it is: such an end is found by an index, which is empty
-- otherwise, and the caller is told. Runs that ended before this migration are asked once, here.
alter table cairn.run add column caller_knows boolean not null default true;
alter table cairn.run alter column caller_knows set default false;

update cairn.run set caller_knows = false where open_child_of is not null;

update cairn.run called set caller_knows = false
from cairn.run caller
where called.parent is not null and called.open_child_of is null
      and caller.shard = called.shard and caller.run_id = called.parent and caller.status in ('running', 'paused');

create index run_loose_end on cairn.run (shard, run_id)
where parent is not null and open_child_of is null and not caller_knows;

comment on column cairn.run.caller_knows is
  'Of a called run that has ended: its caller''s history has the end, or needs it no more.';
