-- No row: there is no such token. One that was revoked before keeps its time.
update cairn.token
set revoked_at = coalesce(revoked_at, (extract(epoch from statement_timestamp()) * 1000000)::bigint)
where name = $1::text
returning name
