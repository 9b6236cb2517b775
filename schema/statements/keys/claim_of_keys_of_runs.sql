-- As claim_of_keys.sql, from these runs only: $8.
with share (key, count, full_at) as materialized (
-- part key_shares
), near as materialized (
  select j.shard, j.run_id, j.branch, j.limit_key, j.priority, j.run_at
  from (select $1::int as shard, n.* from unnest($8::uuid[]) as n (run_id) offset 0) u
  join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id
  where j.queue = $2::text and j.run_at <= $4::bigint and j.session is null
    and (j.offered or exists (select from cairn.home h where h.shard = j.shard and h.run_id = j.run_id
                                and h.session = $5::bigint))
  order by j.priority, j.run_at, j.run_id, j.branch
  for update of j skip locked
-- part take_of_keys
