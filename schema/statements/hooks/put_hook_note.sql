insert into cairn.hook_note (hook, number, at, kind, actor, says, definition)
values ($1::text, $2::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  $3::text, $4::text, $5::text, $6::text)
