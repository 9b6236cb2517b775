-- (offset 0: as in lock_runs.sql.)
-- The newest snapshot of each run.
select u.place, s.seq, s.fold_version, s.chain_hash, s.state
from (select $1::int as shard, n.*
      from unnest($2::uuid[], $3::int[]) with ordinality as n (run_id, fold_version, place) offset 0) u
cross join lateral (
  select s.seq, s.fold_version, s.chain_hash, s.state
  from cairn.snapshot s
  where s.shard = u.shard and s.run_id = u.run_id and s.fold_version = u.fold_version
  order by s.shard desc, s.run_id desc, s.fold_version desc, s.seq desc
  limit 1
) s
