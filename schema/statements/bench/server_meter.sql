select (pg_current_wal_insert_lsn() - '0/0')::bigint,
       pg_backend_pid(),
       inet_server_addr() is null,
       coalesce((select xact_commit from pg_stat_database where datname = $1), 0)
