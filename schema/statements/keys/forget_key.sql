-- Removes the rates and the uses of budgets of a key of a queue, whatever they bind: no run has the key any more.
-- $1 queue, $2 key, as a run has it.
with named as materialized (
  select '=' || case when octet_length($2::text) <= 200 then $2::text else 'md5:' || md5($2::text) end as key
), rates as (
  delete from cairn.rate r
  where r.queue = $1::text and r.key = (select n.key from named n)
  returning r.shard
)
delete from cairn.budget_use b
where b.queue = $1::text and b.key = (select n.key from named n)
