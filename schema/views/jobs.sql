-- Jobs for people; never is infinity.
create or replace view cairn.jobs as
select shard, run_id, branch, step, attempt, queue, priority,
       case when run_at = 9223372036854775807 then 'infinity' else to_timestamp(run_at / 1000000.0) end as run_at,
       session, epoch,
       case when deadline = 9223372036854775807 then 'infinity' else to_timestamp(deadline / 1000000.0) end as deadline,
       timeout_ms
from cairn.job
