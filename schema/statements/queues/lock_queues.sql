-- First statement of a claim of limited queues: which of the queues are limited, locked against other claims. The
-- table's lock (ROW SHARE) makes set_queue wait for claims under way, whether they found something or not.
select q.name, q.concurrency, q.paused
from cairn.queue q
where q.name = any($1::text[]) and (q.concurrency is not null or q.paused)
order by q.name
for no key update
