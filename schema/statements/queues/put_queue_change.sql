insert into cairn.queue_change (queue, revision, at, actor, concurrency, paused, limits)
values ($1::text, $2::bigint, $6::bigint, $7::text, $3::int, $4::boolean, $5::text)
