-- The role of a server, and how far it has come in its log of changes.
select pg_is_in_recovery() is_replica,
  (case when pg_is_in_recovery() then coalesce(pg_last_wal_replay_lsn(), '0/0') else pg_current_wal_lsn() end
    - '0/0'::pg_lsn)::bigint wal_bytes,
  (extract(epoch from clock_timestamp()) * 1000000)::bigint now_us,
  coalesce((extract(epoch from pg_last_xact_replay_timestamp()) * 1000000)::bigint, 0) replayed_until_us
