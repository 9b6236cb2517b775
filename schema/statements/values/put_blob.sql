insert into cairn.blob (shard, hash, bytes) values ($1::int, $2::bytea, $3::bytea) on conflict (shard, hash) do nothing
