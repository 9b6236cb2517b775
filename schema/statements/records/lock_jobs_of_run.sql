select branch
from cairn.job
where shard = $1::int and run_id = $2::uuid
order by branch
for update
