-- As in lock_runs.sql, the limit is there for the planner.
delete from cairn.job j
using (select * from unnest($2::uuid[], $3::int[]) as n (run_id, branch) limit cardinality($2)) u
where j.shard = $1::int and j.run_id = u.run_id and j.branch = u.branch
