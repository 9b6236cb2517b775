-- The extent of a replica. All that was committed before `until_us` is there: the time of the commit that it replayed
-- last, which it forgets when it starts, or that of the checkpoint of its primary up to which it has written all down.
-- It follows if it receives what its primary writes and has replayed all of it: that of a quiet primary is old as well.
select (extract(epoch from clock_timestamp()) * 1000000)::bigint now_us,
  coalesce((extract(epoch from greatest(pg_last_xact_replay_timestamp(), c.checkpoint_time)) * 1000000)::bigint, 0)
    until_us,
  exists (select from pg_stat_wal_receiver)
    and coalesce(pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn(), false) follows
from pg_control_checkpoint() c
