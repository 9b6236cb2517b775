insert into cairn.graph (name, version, current, text, actor, at)
values ($1::text, $2::text, false, $3::text, $4::text, (extract(epoch from statement_timestamp()) * 1000000)::bigint)
on conflict (name, version) do nothing
