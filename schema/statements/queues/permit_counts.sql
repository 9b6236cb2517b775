-- After retire_permits: how many jobs of these queues are held.
select p.queue, count(*)
from cairn.permit p
where p.queue = any($1::text[])
group by p.queue
