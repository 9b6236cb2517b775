-- In the order of the keys, as every process locks them.
select k.graph, k.key, k.numbers, k.look_at, k.state
from cairn.start_key k
where (k.graph, k.key) in (select * from unnest($1::text[], $2::text[]))
order by k.graph, k.key
for update of k
