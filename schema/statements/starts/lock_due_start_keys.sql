-- Those whose time has come and that no other process decides, the longest due first.
select graph, key, numbers, look_at, state
from cairn.start_key
where look_at <= (extract(epoch from statement_timestamp()) * 1000000)::bigint
order by look_at, graph, key
limit $1::int
for update skip locked
