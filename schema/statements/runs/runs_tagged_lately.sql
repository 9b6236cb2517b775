-- As runs_tagged.sql, among the newest $16 runs: a tag that many have is found there, whatever else is in the table.
with lately as materialized (
  select r.* from cairn.run r
  where (r.started_at, r.run_id) < ($6::bigint, $7::uuid) and r.started_at >= $4::bigint
  order by r.started_at desc, r.run_id desc
  limit $16::int
)
-- part run_columns
from lately r
-- part run_cause
-- part run_filter
order by r.started_at desc, r.run_id desc
limit $5::int
