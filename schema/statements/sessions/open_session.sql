-- An id is never used again, so an existing row is our own: from an attempt whose answer was lost, or from before the
-- worker learned of more handlers.
insert into cairn.worker (session, counter, started_at, beat_at, pid, host, queues, only_own, handlers, tools,
                          machine, alone, has_model, allows, feeds, caller, declares, begun)
values ($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::text[], $8::boolean, $9::text[],
        $10::text[], $11::text, $12::text, $13::boolean, $14::text[], true, $15::text, $16::text, $17::text[])
on conflict (session) do update
set queues = excluded.queues, handlers = excluded.handlers, tools = excluded.tools, declares = excluded.declares
