-- Due jobs of the runs $8. (offset 0: as in lock_runs.sql.)
  select j.shard, j.run_id, j.branch, j.queue, j.priority, j.run_at
  from (select $1::int as shard, n.* from unnest($8::uuid[]) as n (run_id) offset 0) u
  join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id
  where j.queue = any($2::text[]) and j.run_at <= $4::bigint and j.session is null
    and (j.offered or exists (select from cairn.home h where h.shard = j.shard and h.run_id = j.run_id
                                and h.session = $5::bigint))
  order by j.priority, j.run_at, j.run_id, j.branch
  for update of j skip locked
