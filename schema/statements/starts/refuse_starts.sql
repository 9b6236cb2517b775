update cairn.waiting_start
set refusal = $5::text
where graph = $1::text and key = $2::text and number between $3::bigint and $4::bigint and refusal is null
