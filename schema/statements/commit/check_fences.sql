-- (offset 0: as in lock_runs.sql.)
-- Locks the rows that are held as the fences say. Unless they are $7, selects 1 / 0 and so fails (22012) with the whole
-- transaction.
select 1 / (count(*) = $7::bigint)::int
from (select true
      from (select $1::int as shard, n.*
            from unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::int[])
                 as n (run_id, branch, session, epoch, held_step)
            offset 0) u
      join cairn.job j on j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
      where j.session = u.session and j.epoch = u.epoch and j.step = u.held_step
      for update of j) held
