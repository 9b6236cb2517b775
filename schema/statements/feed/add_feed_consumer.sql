insert into cairn.feed_consumer (name, id, graph, tags, types, created_at, created_by)
values ($1::text, $2::text, $3::text, $4::text, $5::text[], $6::bigint, $7::text)
on conflict (name) do nothing
returning id
