-- As waiting_keys.sql, of the jobs of these runs, in the order of the keys. $1 shard, $2 queue, $3 runs, $4 now,
-- $5 session.
select j.limit_key as key, count(*) as waiting, t.key as turn, t.served
from (select $1::int as shard, n.* from unnest($3::uuid[]) as n (run_id) offset 0) u
join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id
cross join (
  select coalesce(max(t.key), '') as key, coalesce(max(t.served), 0) as served
  from cairn.key_turn t where t.shard = $1::int and t.queue = $2::text
) t
where j.queue = $2::text and j.run_at <= $4::bigint and j.session is null and j.limit_key is not null
  and (j.offered or exists (select from cairn.home h where h.shard = j.shard and h.run_id = j.run_id
                              and h.session = $5::bigint))
group by j.limit_key, t.key, t.served
order by j.limit_key
