insert into cairn.import (shard, at, run_id, actor, origin, file_digest, key)
values ($1::int, $3::bigint, $2::uuid, $4::text, $5::text, $6::bytea, $7::bytea)
on conflict (shard, run_id) do nothing
