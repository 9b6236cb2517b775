-- The attempts of steps that may not be lost even once (`"retry": {"lost": 0}`) which the session has begun, as "RUN
-- STEP ATTEMPT EPOCH": any other of them that it holds has not begun, and is offered again if the session dies. Null: a
-- worker of an earlier release or one over HTTP, which does not say.
alter table cairn.worker add column begun text[];
