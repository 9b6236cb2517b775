-- The rate of queue $2 after starts were taken for jobs that are held already: $3 as take_of_rooms writes it, $4 the
-- time by the database's clock.
insert into cairn.rate (shard, queue, key, full_at, at)
values ($1::int, $2::text, '', $3::bigint, $4::bigint)
on conflict (queue, key, shard) do update set full_at = excluded.full_at, at = excluded.at
