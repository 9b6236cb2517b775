-- The bounds of queues that each worker has to know; a governed queue counts as paused.
select q.name, q.concurrency, q.paused or q.limits is not null as paused
from cairn.queue q
order by q.name
