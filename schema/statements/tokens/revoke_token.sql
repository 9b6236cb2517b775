-- No row: there is no such token. One that was revoked before keeps its time.
update cairn.token t
set revoked_at = coalesce(t.revoked_at, n.now)
from (select (extract(epoch from statement_timestamp()) * 1000000)::bigint as now) n
where t.name = $1::text
returning t.name
