insert into cairn.graph (name, version, current, text) values ($1::text, $2::text, false, $3::text)
on conflict (name, version) do nothing
