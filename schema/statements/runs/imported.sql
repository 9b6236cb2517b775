select at, actor, origin, file_digest, key from cairn.import where shard = $1::int and run_id = $2::uuid
