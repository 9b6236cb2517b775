select u.place, t.seq, t.chain_hash, t.file_digest, t.at, t.key, t.signature, t.erased_by
from unnest($1::int[], $2::uuid[]) with ordinality as u (shard, run_id, place)
join cairn.tombstone t on t.shard = any (array[u.shard]) and t.run_id = u.run_id
