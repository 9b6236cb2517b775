delete from cairn.progress where shard = $1::int and run_id = any($2::uuid[])
