-- part run_columns
from cairn.run r
-- part run_cause
where r.shard = $1::int and r.run_id = $2::uuid
