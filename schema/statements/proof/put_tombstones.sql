insert into cairn.tombstone (shard, run_id, seq, chain_hash, file_digest, at, key, signature, file, erased_by)
select $1::int, u.run_id, u.seq, u.chain_hash, $2::bytea, $3::bigint, $4::bytea, u.signature, $9::text,
  $10::text
from unnest($5::uuid[], $6::bigint[], $7::bytea[], $8::bytea[]) as u (run_id, seq, chain_hash, signature)
on conflict (shard, run_id) do update
set seq = excluded.seq, chain_hash = excluded.chain_hash, file_digest = excluded.file_digest, at = excluded.at,
    key = excluded.key, signature = excluded.signature, file = excluded.file,
    erased_by = excluded.erased_by
