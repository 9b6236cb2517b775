-- (offset 0: as in lock_runs.sql.)
delete from cairn.job j
using (select $1::int as shard, n.* from unnest($2::uuid[], $3::int[]) as n (run_id, branch) offset 0) u
where j.shard = u.shard and j.run_id = u.run_id and j.branch = u.branch
