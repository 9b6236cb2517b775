-- The claims of jobs of the queue, and the most that was held then of it, and of one of its keys.
select count(*) as claims, coalesce(max(of_queue), 0) as most, coalesce(max(of_key), 0) as most_of_key
from public.held
where queue = $1::text
