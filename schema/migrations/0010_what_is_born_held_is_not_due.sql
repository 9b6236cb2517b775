-- A job that is born held is mostly dropped by whoever holds it, and its entry in job_due was a third of what writing
-- it cost. It gets one when it is free for the first time. (Claims leave the column as it is: what they change must not
-- be part of an index.)
alter table cairn.job add column offered boolean not null default true;
drop index cairn.job_due;
create index job_due on cairn.job (shard, queue, priority, run_at, run_id, branch) where offered;
