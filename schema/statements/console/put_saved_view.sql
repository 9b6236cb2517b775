-- No row: there are as many views as there may be, and none of this name.
insert into cairn.saved_view (name, address, created_at, created_by)
select $1::text, $2::text, (extract(epoch from statement_timestamp()) * 1000000)::bigint, $3::text
where (select count(*) from cairn.saved_view as v where v.name <> $1::text) < $4::text::bigint
on conflict (name) do update
set address = excluded.address, created_at = excluded.created_at, created_by = excluded.created_by
returning name
