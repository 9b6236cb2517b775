-- Runs that continue one of these, and forks of them; one that does both is returned twice.
-- part run_columns
from (
  (select * from cairn.run where continues = any($1::uuid[]) and continues is not null limit $2::int)
  union all
  (select * from cairn.run where origin = any($1::uuid[]) and origin is not null limit $2::int)
) as r
-- part run_cause
