insert into cairn.checkpoint (process, n, at, key, heads, previous, signature)
values ($1::bigint, $2::bigint, $3::bigint, $4::bytea, $5::text, $6::bytea, $7::bytea)
on conflict (process, n) do nothing
