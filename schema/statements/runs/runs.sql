-- Newest first, only those after ($6, $7) in that order.
-- part run_columns
from cairn.run r
-- part run_cause
-- part run_filter
order by r.started_at desc, r.run_id desc
limit $5::int
