-- First statement of a claim of unlimited queues. If one of them is limited, selects 1 / 0 and so fails (22012) with
-- the whole transaction. Its lock on the table (ROW SHARE) makes change_limits wait for claims under way. If the server
-- crashes before such a claim is on disk, the job is simply claimed again, and the lost claim's results are fenced off;
-- commits of events always wait for the disk.
select 1 / (count(*) = 0)::int, set_config('synchronous_commit', 'off', true)
from (
  select q.name
  from cairn.queue q
  where q.name = any($1::text[]) and (q.concurrency is not null or q.paused or q.limits is not null)
  for no key update
) bound
