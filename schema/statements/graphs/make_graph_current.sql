update cairn.graph
set current = true, actor = $3::text, at = (extract(epoch from statement_timestamp()) * 1000000)::bigint
where name = $1::text and version = $2::text and not current
