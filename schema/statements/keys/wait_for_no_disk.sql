-- A claim that counts for no limit, only for turns: if the server crashes before it is on disk, the jobs are simply
-- claimed again, as those of unlimited queues (begin_claim.sql).
select set_config('synchronous_commit', 'off', true)
