-- No row: the name was used before.
insert into cairn.token (name, hash, roles, scopes, quotas, created_at, created_by)
select $1::text, decode($2::text, 'hex'), array(select jsonb_array_elements_text($3::text::jsonb)),
  array(select jsonb_array_elements_text($4::text::jsonb)), array(select jsonb_array_elements_text($5::text::jsonb)),
  (extract(epoch from statement_timestamp()) * 1000000)::bigint, $6::text
on conflict (name) do nothing
returning name
