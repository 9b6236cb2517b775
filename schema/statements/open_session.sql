-- An id is never used again, so a row that is there is ours from an attempt whose answer was lost.
insert into cairn.worker (session, counter, started_at, pid, host, queues)
values ($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::text, $6::text[])
on conflict (session) do nothing
