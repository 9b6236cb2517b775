-- Ends connections that wait for their client inside a statement or transaction. Only our own role's: there is no right
-- to end others. (From version 17 on transaction_timeout would do; idle_in_transaction_session_timeout counts only
-- after a sync.)
select count(pg_terminate_backend(pid))
from pg_stat_activity
where usename = current_user and datname = current_database()
      and (application_name like 'cairn%' or application_name = current_setting('application_name'))
      and wait_event = 'ClientRead' and state <> 'idle'
      and state_change < clock_timestamp() - $1::bigint * interval '1 millisecond'
