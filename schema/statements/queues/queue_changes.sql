-- $1 queue, $2 before this revision, $3 limit.
select c.queue as name, c.revision, c.concurrency, c.paused, c.limits, c.at, c.actor
from cairn.queue_change c
where c.queue = $1::text and c.revision < $2::bigint
order by c.queue, c.revision desc
limit $3::int
