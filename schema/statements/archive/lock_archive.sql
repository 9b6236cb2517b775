-- As try_lock_archive.sql, but waits as long as archive_limits.sql lets it, and fails (55P03) then.
select pg_advisory_xact_lock(4702111234474983747)
