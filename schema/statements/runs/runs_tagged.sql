-- As runs.sql, found by the tags of $15.
with tagged as materialized (
  select * from cairn.run where tags @> $15::text::jsonb and tags <> '{}'
)
-- part run_columns
from tagged r
-- part run_cause
-- part run_filter
order by r.started_at desc, r.run_id desc
limit $5::int
