-- Rows of keys that have none. They go on with the numbers of starts that were refused.
insert into cairn.start_key (graph, key, numbers, look_at, state)
select asked.graph, asked.key,
  coalesce((select max(w.number) from cairn.waiting_start w where w.graph = asked.graph and w.key = asked.key), 0),
  9223372036854775807, ''
from unnest($1::text[], $2::text[]) as asked (graph, key)
order by asked.graph, asked.key
on conflict (graph, key) do nothing
