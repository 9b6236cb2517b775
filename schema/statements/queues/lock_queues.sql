-- First statement of a claim of limited queues: which of the queues are limited, locked against other claims. The
-- table's lock (ROW SHARE) makes change_limits wait for claims under way, whether they found something or not.
select q.name, q.revision, q.concurrency, q.paused, q.limits
from cairn.queue q
where q.name = any($1::text[]) and (q.concurrency is not null or q.paused or q.limits is not null)
order by q.name
for no key update
