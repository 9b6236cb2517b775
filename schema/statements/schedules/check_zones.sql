-- Schedules that are looked at by another version of their zone's file.
update cairn.schedule s
set look_at = least(s.look_at, (extract(epoch from statement_timestamp()) * 1000000)::bigint)
from unnest($1::text[], $2::text[]) as known (zone, zone_mark)
where s.zone = known.zone and s.zone_mark <> known.zone_mark
