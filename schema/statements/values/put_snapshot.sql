insert into cairn.snapshot (shard, run_id, fold_version, seq, chain_hash, state)
values ($1::int, $2::uuid, $3::int, $4::bigint, $5::bytea, $6::text)
on conflict (shard, run_id, fold_version, seq) do update set chain_hash = excluded.chain_hash, state = excluded.state
