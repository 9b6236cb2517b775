-- No row: there is one of that name. The number is that of the last note of an earlier one.
insert into cairn.schedule (name, revision, notes, look_at, zone, zone_mark, definition, state)
select $1::text, 1, coalesce((select max(number) from cairn.schedule_note where schedule = $1::text), 0), $2::bigint,
  $3::text, $4::text, $5::text, $6::text
on conflict (name) do nothing
returning notes
