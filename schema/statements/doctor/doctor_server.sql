select current_setting('server_version_num')::int, current_setting('server_version'), current_setting('fsync'),
  current_setting('synchronous_commit'), current_setting('full_page_writes'), current_setting('autovacuum'),
  current_setting('track_activities'), current_setting('track_counts'), current_setting('track_io_timing'),
  current_setting('max_connections')::int,
  (select count(*) from pg_stat_activity where backend_type = 'client backend'),
  current_user::text,
  coalesce((select rolsuper from pg_roles where rolname = current_user), false)
    or pg_has_role(current_user, 'pg_read_all_stats', 'usage'),
  getdatabaseencoding(),
  case when pg_is_in_recovery() then 0
       else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint end
