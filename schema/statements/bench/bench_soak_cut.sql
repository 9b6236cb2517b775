-- Ends all connections to this database but this one.
select count(pg_terminate_backend(pid)) as ended
from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
