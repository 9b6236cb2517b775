-- The one hold that the session executes with nothing beside it, as "RUN BRANCH EPOCH": of all that it holds only that
-- one has begun. '': its holds run side by side. Null: a worker of an earlier release, which does not say.
alter table cairn.worker add column alone text;
