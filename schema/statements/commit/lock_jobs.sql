-- (offset 0: as in lock_runs.sql.)
-- Second lock of every writer: job rows in order of run and branch.
select u.place, coalesce(j.session, 0), j.epoch, j.step, j.deadline
from (select $1::int as shard, n.* from unnest($2::uuid[], $3::int[]) with ordinality as n (run_id, branch, place)
      offset 0) u
join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
order by j.run_id, j.branch
for update of j
