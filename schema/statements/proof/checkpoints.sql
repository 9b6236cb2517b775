select n, at, key, heads, previous, signature
from cairn.checkpoint
where process = $1::bigint and n > $2::bigint
order by n
limit $3::int
