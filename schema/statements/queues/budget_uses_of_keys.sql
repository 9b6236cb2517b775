-- As budget_uses.sql, of the keys of a queue that used most, all shards of this database together. $1 queue, $2 limit.
select b.queue, b.key, b.unit, b.per, b.since, sum(b.used)::bigint as used
from cairn.budget_use b
where b.queue = $1::text and b.key <> ''
group by b.queue, b.key, b.unit, b.per, b.since
order by sum(b.used) desc, b.key, b.unit, b.per
limit $2::int
