delete from cairn.question where shard = $1::int and run_id = $2::uuid
