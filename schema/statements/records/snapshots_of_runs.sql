-- (offset 0: as in lock_runs.sql.)
select s.run_id, s.seq
from (select $1::int as shard, $3::int as fold_version, n.* from unnest($2::uuid[]) as n (run_id) offset 0) u
join cairn.snapshot s on s.shard = any (array[u.shard]) and s.run_id = u.run_id and s.fold_version = u.fold_version
order by s.run_id, s.seq
