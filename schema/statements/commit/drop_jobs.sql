-- (offset 0: as in lock_runs.sql.)
-- A null session stands for any holder. Unless $7 of the others are held as the fences say, selects 1 / 0 and so fails
-- (22012) with the whole transaction.
with dropped as (
  delete from cairn.job j
  using (select $1::int as shard, n.*
         from unnest($2::uuid[], $3::int[], $4::bigint[], $5::bigint[], $6::int[])
              as n (run_id, branch, session, epoch, held_step)
         offset 0) u
  where j.shard = any (array[u.shard]) and j.run_id = u.run_id and j.branch = u.branch
        and (u.session is null or (j.session = u.session and j.epoch = u.epoch and j.step = u.held_step))
  returning u.session
)
select 1 / (count(session) = $7::bigint)::int from dropped
