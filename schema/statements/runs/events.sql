select seq, at, type, version, step, actor, payload, commit, chain_hash
from cairn.event
where shard = $1::int and run_id = $2::uuid and seq > $3::bigint
order by shard, run_id, seq
limit $4::int
