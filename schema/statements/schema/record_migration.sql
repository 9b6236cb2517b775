insert into cairn.migration (number, name, shards) values ($1::int, $2::text, $3::int)
