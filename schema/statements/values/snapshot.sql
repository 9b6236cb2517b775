select seq, fold_version, chain_hash, state
from cairn.snapshot
where shard = $1::int and run_id = $2::uuid and fold_version = $3::int and seq <= $4::bigint
order by shard desc, run_id desc, fold_version desc, seq desc
limit 1
