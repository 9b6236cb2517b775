-- (offset 0: as in lock_runs.sql.)
-- After lock_runs: these holds, by their place, whose session's row says that their attempt has begun. $1 shard.
select u.place
from (select $1::int as shard, n.*
      from unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::int[]) with ordinality
           as n (run_id, branch, session, epoch, held_step, place)
      offset 0) u
join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
join cairn.worker w on w.session = u.session
where concat_ws(' ', u.run_id, u.held_step, j.attempt, u.epoch) = any (w.begun)
