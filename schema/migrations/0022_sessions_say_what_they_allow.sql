-- What a session's settings let its tools reach, and what these answer from. Null: a worker of an earlier release,
-- which does not say.
alter table cairn.worker add column allows text[];
