-- The keys of a queue in a shard that have jobs, from the one whose turn it is on and then from the beginning, $3 at
-- most, and how many jobs of each are due, $5 at most. The keys are found by hopping along the index. With each, whose
-- turn it is. (Statistics of a flooded queue say that each job is of the one key, so that any index looks good. Only
-- the index of keys gives a range of keys in their order.) $1 shard, $2 queue, $4 now, $6 runs that are passed by.
with recursive turn (key, served) as materialized (
  select coalesce(max(t.key), ''), coalesce(max(t.served), 0)
  from cairn.key_turn t where t.shard = $1::int and t.queue = $2::text
), later (key, nth) as (
  select (select j.limit_key from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key >= (select key from turn) and j.offered
          order by j.limit_key limit 1), 1
  union all
  select (select j.limit_key from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key > l.key and j.offered
          order by j.limit_key limit 1), l.nth + 1
  from later l where l.key is not null and l.nth < $3::int
), earlier (key, nth) as (
  select (select j.limit_key from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key >= '' and j.limit_key < (select key from turn)
            and j.offered
          order by j.limit_key limit 1), $3::int + 1
  union all
  select (select j.limit_key from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key > e.key
            and j.limit_key < (select key from turn) and j.offered
          order by j.limit_key limit 1), e.nth + 1
  from earlier e where e.key is not null and e.nth < 2 * $3::int
)
select r.key,
  (select count(*)
   from (select from cairn.job j
         where j.shard = $1::int and j.queue = $2::text and j.limit_key >= r.key and j.limit_key <= r.key and j.offered
           and j.session is null and j.run_at <= $4::bigint and j.run_id <> all ($6::uuid[])
         order by j.limit_key
         limit $5::int) w) as waiting,
  t.key as turn, t.served
from (select * from later union all select * from earlier) r cross join turn t
where r.key is not null
order by r.nth
limit $3::int
