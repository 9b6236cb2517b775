-- By the reader who took it last: no row otherwise. The next pass is in $3 microseconds.
update cairn.hook h
set look_at = (extract(epoch from statement_timestamp()) * 1000000)::bigint + $3::bigint,
  ready = $4::boolean, scan_shard = $5::int, scan_run = $6::uuid
where h.name = $1::text and h.fence = $2::bigint and not h.removed
returning h.name
