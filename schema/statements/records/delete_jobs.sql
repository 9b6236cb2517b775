delete from cairn.job where shard = $1::int and run_id = $2::uuid and branch = any($3::int[])
