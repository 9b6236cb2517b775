-- A hint to whoever listens. $1 who gives it. Nothing is lost with it that would be worth a wait for the disk.
select set_config('synchronous_commit', 'off', true), pg_notify('cairn', $1::text)
