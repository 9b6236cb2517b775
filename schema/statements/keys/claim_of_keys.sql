-- After key_uses: due jobs of the keys of a queue, as many of each as the claimer says. (Keys as ranges: as in
-- waiting_keys.sql.)
-- $1 shard, $3 limit, $4 now, $5 session, $6 default timeout (ms), $7 grace (ms), $8 runs that are passed by.
with recursive share (key, count, full_at) as materialized (
-- part key_shares
), level (key, count, priority) as (
  select s.key, s.count,
         (select j.priority from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key >= s.key and j.limit_key <= s.key and j.offered
          order by j.limit_key, j.priority limit 1)
  from share s
  union all
  select l.key, l.count,
         (select j.priority from cairn.job j
          where j.shard = $1::int and j.queue = $2::text and j.limit_key >= l.key and j.limit_key <= l.key and j.offered
            and j.priority > l.priority
          order by j.limit_key, j.priority limit 1)
  from level l where l.priority is not null
), near as materialized (
  select j.*
  from (select * from level where priority is not null) l
  cross join lateral (
    select j.shard, j.run_id, j.branch, j.limit_key, j.priority, j.run_at
    from cairn.job j
    where j.shard = $1::int and j.queue = $2::text and (j.limit_key, j.priority) >= (l.key, l.priority)
      and (j.limit_key, j.priority, j.run_at) <= (l.key, l.priority, $4::bigint) and j.limit_key is not null
      and j.offered and j.session is null and j.run_id <> all ($8::uuid[])
    order by j.shard, j.queue, j.limit_key, j.priority, j.run_at, j.run_id, j.branch
    limit l.count
    for update skip locked
  ) j
-- part take_of_keys
