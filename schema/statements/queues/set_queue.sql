insert into cairn.queue (name, concurrency, paused) values ($1::text, $2::int, $3::boolean)
on conflict (name) do update set concurrency = excluded.concurrency, paused = excluded.paused
