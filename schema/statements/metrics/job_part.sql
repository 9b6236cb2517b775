-- Counts of the first $4 jobs after a place ($1 to $3) by queue, with the place of the last of them. $5 now.
with part as materialized (
  select j.shard, j.run_id, j.branch, j.queue, j.session, j.run_at
  from cairn.job j
  where (j.shard, j.run_id, j.branch) > ($1::int, $2::uuid, $3::int)
  order by j.shard, j.run_id, j.branch
  limit $4::bigint
)
select p.queue,
       count(*) filter (where p.session is null and p.run_at <= $5::bigint) as ready,
       count(*) filter (where p.session is null and p.run_at > $5::bigint) as later,
       count(*) filter (where p.session is not null) as held,
       l.shard, l.run_id, l.branch
from part p
cross join (
  select q.shard, q.run_id, q.branch from part q order by q.shard desc, q.run_id desc, q.branch desc limit 1
) l
group by p.queue, l.shard, l.run_id, l.branch
