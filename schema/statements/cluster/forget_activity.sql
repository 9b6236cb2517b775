-- A transaction sees the connections as they were when it first looked at them: it looks again.
select pg_stat_clear_snapshot()
