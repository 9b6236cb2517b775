-- As in lock_runs.sql, the limit is there for the planner.
-- Second lock of every writer: job rows in order of run and branch.
select u.place, coalesce(j.session, 0), j.epoch, j.step
from (select * from unnest($2::uuid[], $3::int[]) with ordinality as n (run_id, branch, place)
      limit cardinality($2)) u
join cairn.job j on j.shard = $1::int and j.run_id = u.run_id and j.branch = u.branch
order by j.run_id, j.branch
for update of j
