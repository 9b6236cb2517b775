-- For this transaction: so many milliseconds for each lock, because those who come after it wait behind it.
select set_config('lock_timeout', $1::text || 'ms', true)
