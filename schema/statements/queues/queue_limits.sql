select q.name, q.revision, q.concurrency, q.paused, q.limits
from cairn.queue q
order by q.name
