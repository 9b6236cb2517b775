-- The keys of a queue in a shard that have jobs, from $3 on and then from the beginning, $4 at most, and how many jobs
-- of each are due, $6 at most. The keys are found by hopping along the index.
-- $1 shard, $2 queue, $5 now, $7 runs that are passed by.
with recursive later (key, nth) as (
  select (select j.limit_key from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key >= $3::text and j.offered
          order by j.limit_key limit 1), 1
  union all
  select (select j.limit_key from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key > l.key and j.offered
          order by j.limit_key limit 1), l.nth + 1
  from later l where l.key is not null and l.nth < $4::int
), earlier (key, nth) as (
  select (select j.limit_key from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key >= '' and j.limit_key < $3::text and j.offered
          order by j.limit_key limit 1), $4::int + 1
  union all
  select (select j.limit_key from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key > e.key and j.limit_key < $3::text
            and j.offered
          order by j.limit_key limit 1), e.nth + 1
  from earlier e where e.key is not null and e.nth < 2 * $4::int
)
select r.key,
  (select count(*)
   from (select from cairn.job j
         where j.shard = $1::int and j.queue = $2::text and j.limit_key = r.key and j.offered and j.session is null
           and j.run_at <= $5::bigint and j.run_id <> all ($7::uuid[])
         limit $6::int) w) as waiting
from (select * from later union all select * from earlier) r
where r.key is not null
order by r.nth
limit $4::int
