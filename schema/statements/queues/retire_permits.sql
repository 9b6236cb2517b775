-- After lock_queues: how many jobs of these queues are held, by their permits. First removes the permits whose job is
-- no longer held as it was claimed: if $2, or of a queue whose concurrency would leave less than $3 places with them.
-- One that stays for a while counts as held. $1 queues.
with counted as materialized (
  select u.name, q.concurrency, (select count(*) from cairn.permit p where p.queue = u.name) as permits
  from unnest($1::text[]) as u (name)
  left join cairn.queue q on q.name = u.name
), gone as (
  delete from cairn.permit p
  where p.queue = any (array(select c.name from counted c where $2::boolean or c.concurrency - c.permits < $3::int))
    and not exists (
      select from cairn.job j
      where j.shard = p.shard and j.run_id = p.run_id and j.branch = p.branch
        and j.epoch = p.epoch and j.session is not null and j.queue is not distinct from p.queue)
  returning p.queue
)
select c.name as queue, c.permits - (select count(*) from gone g where g.queue = c.name) as count
from counted c
