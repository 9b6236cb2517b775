insert into cairn.passage (corpus, source, position, title, text)
values ($1::text, $2::text, $3::int, $4::text, $5::text)
