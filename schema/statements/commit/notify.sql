-- A notification: $1 is its sender, and the job it names, if any. Losing one costs less than a wait for the disk.
select set_config('synchronous_commit', 'off', true), pg_notify('cairn', $1::text)
