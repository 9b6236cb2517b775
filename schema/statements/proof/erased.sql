-- Tombstones of runs that were erased, those after (shard, run_id).
select t.shard, t.run_id, t.seq, t.chain_hash, t.file_digest, t.at, t.key, t.signature, t.file, t.erased_by
from cairn.tombstone t
where (t.shard, t.run_id) > ($1::int, $2::uuid) and t.erased_by <> ''
order by t.shard, t.run_id
limit $3::int
