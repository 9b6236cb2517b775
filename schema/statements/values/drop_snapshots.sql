-- The snapshots of runs that end or go.
delete from cairn.snapshot where shard = $1::int and run_id = any($2::uuid[])
