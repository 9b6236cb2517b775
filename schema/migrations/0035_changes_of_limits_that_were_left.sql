-- On a cluster a queue is paused while its limits change, in several transactions. Its row has what it had before, so
-- that the pause of a process that died meanwhile is ended by another one. All null: no change is under way; another
-- `before_revision` than `revision`: a release before this one has ended it.
alter table cairn.queue
  add column change_began bigint,
  add column before_revision bigint,
  add column before_concurrency int,
  add column before_paused boolean,
  add column before_limits text;
