select pg_is_in_recovery() as is_replica, current_setting('server_version_num')::int as version,
  pg_backend_pid() as backend
