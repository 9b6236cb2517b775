update cairn.worker
set counter = counter + 1, beat_at = (extract(epoch from statement_timestamp()) * 1000000)::bigint
where session = $1::bigint
