-- As runs.sql, found by the graph $1.
-- part run_columns
from cairn.run r
-- part run_cause
-- part run_filter
  and r.graph = $1::text
order by r.started_at desc, r.run_id desc
limit $5::int
