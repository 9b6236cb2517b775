-- The checkpoints of all processes after (at, process, n) of the page before, in that order.
select process, n, at, key, heads, previous, signature
from cairn.checkpoint
where (at, process, n) > ($1::bigint, $2::bigint, $3::bigint)
order by at, process, n
limit $4::int
