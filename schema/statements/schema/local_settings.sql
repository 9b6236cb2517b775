-- The settings of pooled connections (hot_settings in storage/postgres/connection_pool.hpp) for one transaction alone:
-- behind a pooler the next one may be another client's.
select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
  set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
  set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
  set_config('jit', 'off', true), set_config('idle_in_transaction_session_timeout', '5s', true),
  set_config('client_connection_check_interval', '2s', true), set_config('client_min_messages', 'warning', true),
  set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on'
                                   else current_setting('synchronous_commit') end, true)
