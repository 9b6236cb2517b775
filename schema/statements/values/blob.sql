select bytes from cairn.blob where shard = $1::int and hash = $2::bytea
