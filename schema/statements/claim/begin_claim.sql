-- First statement of a claim of queues that are neither limited nor paused; fails (22012) if one of them is. Its lock
-- on the table (ROW SHARE) makes set_queue wait for claims under way. If the server crashes before such a claim is on
-- disk, the job is simply claimed again, and what is done under the lost claim is fenced off. Commits of events never
-- say this.
select 1 / (count(*) = 0)::int, set_config('synchronous_commit', 'off', true)
from (
  select q.name
  from cairn.queue q
  where q.name = any($1::text[]) and (q.concurrency is not null or q.paused)
  for no key update
) bound
