-- Nothing happens if another server was quicker.
insert into cairn.link_key (number, key, created_at)
values (1, decode($1::text, 'hex'), (extract(epoch from statement_timestamp()) * 1000000)::bigint)
on conflict (number) do nothing
