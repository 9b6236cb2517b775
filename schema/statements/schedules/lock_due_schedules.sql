-- Those whose time has come and that no other process decides, the longest due first.
select name, revision, notes, look_at, zone_mark, definition, state
from cairn.schedule
where look_at <= (extract(epoch from statement_timestamp()) * 1000000)::bigint
order by look_at, name
limit $1::int
for update skip locked
