-- First statement of a change, in a cluster; otherwise after exclude_claims.
select q.name, q.revision, q.concurrency, q.paused, q.limits
from cairn.queue q
where q.name = $1::text
for update
