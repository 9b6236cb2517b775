delete from cairn.snapshot
where shard = $1::int and run_id = $2::uuid and fold_version = $3::int and seq = any($4::bigint[])
