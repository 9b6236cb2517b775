-- The transaction of the archive's lock lasts as long as the archive, whatever limits the server sets, and waits $1 ms
-- for the lock. (transaction_timeout is there from version 17 on.)
select set_config(s.name, '0', true) from pg_settings s
where s.name in ('idle_in_transaction_session_timeout', 'statement_timeout', 'transaction_timeout')
union all
select set_config('lock_timeout', $1::text, true)
