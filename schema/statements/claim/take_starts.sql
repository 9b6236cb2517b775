-- The rates of queue $2 after starts were taken for jobs that are held already: $3 the keys of its rows (the empty one:
-- of the queue; each with = before it), $4 as take_of_rooms writes them, $5 the time by the database's clock.
insert into cairn.rate (shard, queue, key, full_at, at)
select $1::int, $2::text, n.key, n.full_at, $5::bigint
from unnest($3::text[], $4::bigint[]) as n (key, full_at)
on conflict (queue, key, shard) do update set full_at = excluded.full_at, at = excluded.at
