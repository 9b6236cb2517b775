insert into cairn.worker (session, counter, started_at, pid, host, queues)
values ($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::text, $6::text[])
