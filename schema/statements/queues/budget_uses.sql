-- After retire_permits: what is used of the budgets of these queues, as commits in each shard counted it. A step that
-- ends between the two is counted in both. Not what a clock that was ahead by more than a day has counted. $1 queues,
-- $2 keys: the empty one, or each with = before it.
select b.queue, b.key, b.unit, b.per, b.since, b.used
from cairn.budget_use b
where b.queue = any($1::text[]) and b.key = any($2::text[])
  and b.since <= (extract(epoch from clock_timestamp()) * 1000000)::bigint + 86400000000
