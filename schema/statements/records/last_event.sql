select seq, chain_hash
from cairn.event
where shard = $1::int and run_id = $2::uuid
order by shard desc, run_id desc, seq desc
limit 1
