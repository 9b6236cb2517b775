-- $1 shard, $2 run.
select j.branch, j.limit_key
from cairn.job j
where j.shard = $1::int and j.run_id = $2::uuid and j.limit_key is not null
