-- Rows of keys that have none.
insert into cairn.start_key (graph, key, numbers, look_at, state)
select asked.graph, asked.key, 0, 9223372036854775807, ''
from unnest($1::text[], $2::text[]) as asked (graph, key)
order by asked.graph, asked.key
on conflict (graph, key) do nothing
