-- In order, those of all graphs if $1 is empty.
select graph, key, numbers, look_at, state
from cairn.start_key
where (graph, key) > ($2::text, $3::text) and ($1::text = '' or graph = $1::text)
order by graph, key
limit $4::int
