-- The server as its log of changes names it. A promotion, or a restore up to a moment, begins another timeline, at
-- once; 0 of a replica, which writes none.
select (select system_identifier from pg_control_system()) system,
  case when pg_is_in_recovery() then 0
       else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint end timeline
