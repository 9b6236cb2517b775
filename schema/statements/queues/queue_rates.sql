-- After lock_queues: when the starts of these queues are all free again, as claims in all shards of this database left
-- it.
select r.queue, max(r.full_at)
from cairn.rate r
where r.queue = any($1::text[]) and r.key = ''
group by r.queue
