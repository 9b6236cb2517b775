-- (offset 0: as in lock_runs.sql.)
-- What has become of these holds, by their place. $1 shard.
select u.place, j.run_id is not null as is_there,
  coalesce(j.session = u.session and j.epoch = u.epoch and j.step = u.held_step, false) as is_held
from (select $1::int as shard, n.*
      from unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::int[]) with ordinality
           as n (run_id, branch, session, epoch, held_step, place)
      offset 0) u
left join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
