-- In a transaction that a server's crash may forget. A claim that counts for no limit, only for turns: the jobs are
-- simply claimed again, as those of unlimited queues (begin_claim.sql). A claim that took nothing, or found no start to
-- take: it retired permits, or passed a turn on, and the next one does so again. A transaction that only holds a lock.
-- Decisions of schedules: they are made again, as no run that was started by them is on disk before them.
select set_config('synchronous_commit', 'off', true)
